//! One phase of a test with the page: its connections, its payload, and what was measured of it.

use super::dialogue::Dialogue;
use super::message::ToPage;
use super::page_counts::PagePhase;
use super::prober::PingProber;
use super::registry::RegisteredVisitor;
use crate::http::{
    Body, RequestMethod, RequestRoute, Status, WebFlow, is_own_or_listed, read_head, respond,
};
use crate::options::WebOptions;
use crate::websocket::{
    SentMessageSizes, WebSocketReceiver, WebSocketSender, accept_upgrade, random_payload,
};
use caudal_core::event::Event;
use caudal_core::plan::{Direction, PhaseLoad, PlannedFlow, Ticks};
use caudal_core::sample::{Counters, FlowEnd, Role, Sample};
use caudal_engine::SessionProgress;
use caudal_engine::server::{
    FlowLimits, FlowWatch, SampledFlows, SessionEventKind, SharedPortClient, StopReason,
};
use caudal_flow::socket::{DataSocket, granted_tcp};
use caudal_flow::{
    FlowSet, FlowWork, NewFlow, PlannedEnd, RunError, SessionLimits, StopAction, TestLimit,
};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// The interval at which the counters are read.
pub(super) const INTERVAL: Duration = Duration::from_millis(200);
/// The time that the page may take for its connections.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// The time after a phase in which its last counts may come, and queues become empty.
const PAUSE_NS: u64 = 1_000_000_000;
/// The time after its end at which a phase is ended.
const OVERDUE: Duration = Duration::from_secs(3);

/// What a phase is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PhasePlan {
    /// Its number, from 0.
    pub(super) number: u32,
    /// Its load.
    pub(super) load: PhaseLoad,
    /// Its duration.
    pub(super) time: Duration,
    /// The part at its beginning that does not count.
    pub(super) ramp: Duration,
    /// Connections in each direction.
    pub(super) streams: u32,
}

/// What was measured in a phase.
#[derive(Debug, Clone)]
pub(super) struct PhaseRecord {
    /// What it was to be.
    pub(super) plan: PhasePlan,
    /// Its start, ns of the monotonic clock.
    pub(super) start_ns: u64,
    /// Its end, ns of the monotonic clock.
    pub(super) end_ns: u64,
    /// The readings of the flows at this end.
    pub(super) samples: Vec<Sample>,
    /// Their ends.
    pub(super) ends: Vec<FlowEnd>,
    /// Why it ended early.
    pub(super) cut_short: Option<String>,
}

impl PhaseRecord {
    /// The time it lasted, s.
    pub(super) fn time_s(&self) -> f64 {
        let lasted_s = (self.end_ns - self.start_ns) as f64 / 1e9;
        lasted_s.min(self.plan.time.as_secs_f64())
    }

    /// Payload that this end received and sent, bytes.
    pub(super) fn carried(&self) -> (u64, u64) {
        self.ends
            .iter()
            .fold((0, 0), |(received, sent), end| match &end.counters {
                Counters::Sender(counters) => (received, sent + counters.bytes),
                Counters::Receiver(counters) => (received + counters.bytes, sent),
            })
    }
}

/// The direction of a flow of a phase by its number: downloads have the even ones.
pub(super) const fn direction_of(flow: u32) -> Direction {
    match flow % 2 {
        0 => Direction::Down,
        _ => Direction::Up,
    }
}

/// What the phases of a test share.
pub(super) struct VisitorPhaseRunner<'a> {
    pub(super) client: &'a SharedPortClient<'a>,
    pub(super) options: &'a WebOptions,
    pub(super) visitor: &'a RegisteredVisitor<'a>,
    pub(super) dialogue: &'a Dialogue,
    /// The limits of the server, with what is left to this client.
    pub(super) limits: SessionLimits,
    /// The start of the test, ns of the monotonic clock.
    pub(super) test_ns: u64,
}

impl VisitorPhaseRunner<'_> {
    /// Waits for the connections that the page was told to make: downloads, uploads, probes.
    ///
    /// # Errors
    /// When they do not come, or the test is over.
    pub(super) fn connections(
        &self,
        wanted: &[WebFlow],
    ) -> Result<Vec<(WebFlow, TcpStream)>, String> {
        let until_ns = monotonic_ns() + CONNECT_TIME.as_nanos() as u64;
        let mut missing = wanted.to_vec();
        let mut taken = Vec::new();
        while !missing.is_empty() {
            self.check()?;
            let left = until_ns.saturating_sub(monotonic_ns());
            if left == 0 {
                let s = CONNECT_TIME.as_secs();
                return Err(format!(
                    "the page did not make its connections within {s} s"
                ));
            }
            let wait = Duration::from_nanos(left).min(Duration::from_millis(50));
            let arrived = match self.visitor.arrivals.recv_timeout(wait) {
                Ok(arrived) => arrived,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Err("it was ended".to_owned()),
            };
            let stream = arrived.stream;
            let _ = stream.set_nonblocking(false);
            let Ok((head, rest)) = read_head(&arrived.first, &stream, self.client.stop_fd()) else {
                continue;
            };
            let kind = match RequestRoute::of(&head.path) {
                RequestRoute::Flow(secret, kind) if secret == self.visitor.secret => kind,
                _ => continue,
            };
            let host = head.host.as_deref();
            let is_own = is_own_or_listed(head.origin.as_deref(), host, &self.options.origins);
            let position = missing.iter().position(|one| *one == kind);
            match (head.upgrade, position) {
                (Some(upgrade), Some(nth)) if is_own && rest.is_empty() => {
                    if accept_upgrade(&stream, &upgrade, None).is_ok() {
                        missing.swap_remove(nth);
                        taken.push((kind, stream));
                    }
                }
                _ => respond(
                    &stream,
                    Status::BadRequest,
                    RequestMethod::Get,
                    Body::Text("This connection is not expected.\n"),
                ),
            }
        }
        Ok(taken)
    }

    /// Fails where the test is over.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(why) = self.dialogue.state().ended {
            return Err(why.to_owned());
        }
        if let Some(why) = self.client.slot().given_up() {
            return Err(why);
        }
        match self.client.is_stopping() {
            true => Err("the server is being stopped".to_owned()),
            false => Ok(()),
        }
    }

    /// Carries out a phase.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub(super) fn run(&self, plan: PhasePlan, prober: &PingProber) -> Result<PhaseRecord, String> {
        self.dialogue.state().phases.push(PagePhase {
            load: plan.load,
            counts: super::page_counts::PageCounts::default(),
            starved: 0.0,
        });
        self.dialogue.tell(&ToPage::Phase {
            number: plan.number,
            load: plan.load,
            streams: plan.streams,
            time_ms: plan.time.as_millis() as u64,
        });
        let record = match plan.load {
            PhaseLoad::Idle => self.idle(plan, prober),
            _ => self.loaded(plan, prober),
        };
        self.dialogue.tell(&ToPage::Over {
            number: plan.number,
        });
        let is_whole = record
            .as_ref()
            .is_ok_and(|record| record.cut_short.is_none());
        if plan.load != PhaseLoad::Idle && is_whole {
            sleep_until(monotonic_ns() + PAUSE_NS);
        }
        record
    }

    /// A phase without load.
    fn idle(&self, plan: PhasePlan, prober: &PingProber) -> Result<PhaseRecord, String> {
        let start_ns = monotonic_ns();
        let until_ns = start_ns + plan.time.as_nanos() as u64;
        let mut last_ns = start_ns;
        while monotonic_ns() < until_ns {
            self.check()?;
            self.client.slot().activity().is_active();
            sleep_until((last_ns + INTERVAL.as_nanos() as u64).min(until_ns));
            let now_ns = monotonic_ns();
            self.progress(plan, [None, None], prober, (last_ns, now_ns));
            last_ns = now_ns;
        }
        Ok(PhaseRecord {
            plan,
            start_ns,
            end_ns: monotonic_ns(),
            samples: Vec::new(),
            ends: Vec::new(),
            cut_short: None,
        })
    }

    /// A phase with load.
    fn loaded(&self, plan: PhasePlan, prober: &PingProber) -> Result<PhaseRecord, String> {
        let directions = plan.load.each_direction();
        let kind = |direction: Direction| match direction {
            Direction::Down => WebFlow::Down,
            Direction::Up => WebFlow::Up,
        };
        let wanted: Vec<WebFlow> = (0..plan.streams)
            .flat_map(|_| directions.iter().map(|direction| kind(*direction)))
            .collect();
        let connections = self.connections(&wanted)?;
        let mut set = self
            .flows(plan, connections)
            .map_err(|error| error.to_string())?;
        self.client.slot().test_begins();
        set.start();
        self.dialogue.tell(&ToPage::Go {
            number: plan.number,
        });
        let start_ns = monotonic_ns();
        let watch = FlowLimits {
            ticks: Some(Ticks::new(INTERVAL, Duration::ZERO, Some(plan.time))),
            sampled: SampledFlows::All,
            total_time: Some(plan.time + OVERDUE),
            stop: vec![self.client.stop_fd(), self.dialogue.ended_fd()],
            quit: Some(self.client.slot().activity().given_up()),
            activity: Some(self.client.slot().activity()),
            ..FlowLimits::none()
        };
        let mut live = LiveRates::default();
        let mut samples: Vec<Sample> = Vec::new();
        let (ends, reason) = FlowWatch::new(watch, &set).run(&mut set, &mut |event| {
            let Event::Sampled(sample) = event else {
                return;
            };
            if let Some(interval) = live.take(&sample, start_ns) {
                self.progress(plan, interval.rates, prober, interval.span);
                self.client
                    .send_event(SessionEventKind::Progress(live.progress()));
            }
            samples.push(sample);
        });
        let record = PhaseRecord {
            plan,
            start_ns,
            end_ns: monotonic_ns(),
            samples,
            ends,
            cut_short: reason
                .filter(|reason| *reason != StopReason::TimeOver)
                .map(|reason| self.check().err().unwrap_or_else(|| reason.to_string())),
        };
        // What the flows still have to send is dropped with them.
        drop(set);
        // What it carried counts, also where the page has left.
        Ok(record)
    }

    /// The flows of a phase over its connections.
    fn flows(
        &self,
        plan: PhasePlan,
        connections: Vec<(WebFlow, TcpStream)>,
    ) -> Result<FlowSet, RunError> {
        let payload =
            random_payload().map_err(|cause| RunError::local("making random payload", cause))?;
        let limit = TestLimit::new(&self.limits, PlannedEnd::ByItself);
        let mut set = FlowSet::limited(StopAction::HalfClose, Some(limit), connections.len())?;
        let (mut downs, mut ups) = (0, 0);
        for (kind, stream) in connections {
            let (id, role, task): (u32, Role, FlowWork) = match kind {
                WebFlow::Up => {
                    ups += 1;
                    let receiver = WebSocketReceiver { time: plan.time };
                    (2 * ups - 1, Role::Receiver, receiver.into_task())
                }
                _ => {
                    downs += 1;
                    let sender = WebSocketSender {
                        payload: Arc::clone(&payload),
                        sizes: SentMessageSizes::SLOWLY_GROWING,
                        time: plan.time,
                        max_rate: self.limits.rate_per_flow(plan.streams),
                        drops_rest: true,
                        notes: None,
                    };
                    (2 * downs - 2, Role::Sender, sender.into_task())
                }
            };
            set.add(NewFlow {
                flow: PlannedFlow {
                    id,
                    direction: direction_of(id),
                },
                role,
                granted: granted_tcp(&stream, false),
                socket: Arc::new(DataSocket::Tcp(stream)),
                cpu: None,
                task,
            })?;
        }
        Ok(set)
    }

    /// Tells the page what was measured in an interval, ns of the monotonic clock: rates down and up.
    fn progress(
        &self,
        plan: PhasePlan,
        [down_bps, up_bps]: [Option<f64>; 2],
        prober: &PingProber,
        (from_ns, to_ns): (u64, u64),
    ) {
        // Those due in the last interval may still be on the way.
        let latest = prober.between(from_ns.saturating_sub(INTERVAL.as_nanos() as u64), to_ns);
        let mut rtt: Vec<u64> = latest.iter().filter_map(|trip| trip.rtt_ns).collect();
        rtt.sort_unstable();
        self.dialogue.tell(&ToPage::Progress {
            number: plan.number,
            at_s: to_ns.saturating_sub(self.test_ns) as f64 / 1e9,
            down_bps,
            up_bps,
            rtt_ms: rtt.get(rtt.len() / 2).map(|ns| *ns as f64 / 1e6),
        });
    }
}

/// What was carried in an interval.
#[derive(Debug, Clone, Copy)]
struct LiveInterval {
    /// The rates down and up, bit/s, where there are such flows.
    rates: [Option<f64>; 2],
    /// Its beginning and end, ns of the monotonic clock.
    span: (u64, u64),
}

/// The rates of the interval before, as readings come in.
#[derive(Debug, Default)]
struct LiveRates {
    tick: u64,
    /// Payload by direction: at the tick before, and at this one.
    before: [u64; 2],
    now: [u64; 2],
    seen: [bool; 2],
    before_ns: u64,
    at_ns: u64,
}

impl LiveRates {
    /// Takes a reading: the interval before, once the next begins.
    fn take(&mut self, sample: &Sample, start_ns: u64) -> Option<LiveInterval> {
        let mut complete = None;
        if sample.tick != self.tick {
            if self.tick > 0 {
                let s = self.at_ns.saturating_sub(self.before_ns).max(1) as f64 / 1e9;
                let bps = |nth: usize| {
                    let [now, before] = [self.now, self.before].map(|all| all.get(nth).copied());
                    let bytes = now?.saturating_sub(before?);
                    let seen = self.seen.get(nth).copied().unwrap_or(false);
                    seen.then(|| bytes as f64 * 8.0 / s)
                };
                let span = (start_ns + self.before_ns, start_ns + self.at_ns);
                complete = Some(LiveInterval {
                    rates: [bps(0), bps(1)],
                    span,
                });
            }
            self.before = self.now;
            self.before_ns = self.at_ns;
            self.now = [0; 2];
            self.tick = sample.tick;
        }
        let (nth, bytes) = match &sample.counters {
            Counters::Sender(sent) => {
                let acked = sent.tcp.and_then(|tcp| tcp.bytes_acked);
                (0, acked.unwrap_or(sent.bytes))
            }
            Counters::Receiver(received) => (1, received.bytes),
        };
        if let (Some(sum), Some(seen)) = (self.now.get_mut(nth), self.seen.get_mut(nth)) {
            *sum += bytes;
            *seen = true;
        }
        self.at_ns = sample.at_ns;
        complete
    }

    /// The payload so far.
    const fn progress(&self) -> SessionProgress {
        let [sent_bytes, received_bytes] = self.before;
        SessionProgress {
            received_bytes,
            sent_bytes,
        }
    }
}
