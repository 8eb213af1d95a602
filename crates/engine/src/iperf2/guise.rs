//! Our own throughput test with a server of iperf 2: its dialect on the wire, our figures here.
//!
//! The server tells nothing while a TCP test runs and little after a UDP one. So the receiver of an upload
//! over TCP is what its kernel has acknowledged, and over UDP what its last report says; what nobody tells
//! is absent.

use super::client::{self, ClientOptions};
use super::leg::Leg;
use super::{Event as Heard, Source, Tell, sends};
use crate::bell::Bell;
use crate::carrier::{Link, Manner};
use crate::client::{CutShort, Target, TrafficRun, resolve};
use crate::environment::{Meter, describe};
use crate::error::RunError;
use crate::{socket, tcp};
use caudal_core::event::{Agreement, Event};
use caudal_core::plan::{
    BulkPlan, Direction, Directions, Plan, PlannedFlow, TcpPlan, TestEnd, Transport,
};
use caudal_core::sample::{
    Counters, DelaySummary, FlowEnd, FlowRecord, Granted, ReceiverCounters, Sample, SenderCounters,
};
use caudal_core::sequence::{SequenceCounts, SequenceTracker};
use caudal_stats::ClockEstimate;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;
use caudal_sys::udp;
use caudal_wire::iperf2::{ServerReport, Way};
use caudal_wire::message::Host;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long after its time a test's last payload may come, ns.
const LATE_NS: u64 = 4_000_000_000;
/// How long nothing may move in a test that ends by bytes, ns.
const IDLE_NS: u64 = 15_000_000_000;

/// A server of iperf 2, as the other end of our tests.
pub struct Guise {
    peer: SocketAddr,
    target: Target,
    /// What this machine says of itself.
    pub here: Host,
    /// What is known of the server: its address.
    pub server: Host,
    /// How long the last connecting took.
    pub connecting: Duration,
    /// Nothing: the dialect has no clock.
    pub clock: ClockEstimate,
    interrupt: Option<&'static Interrupt>,
}

impl Guise {
    /// Names the server; nothing is sent yet.
    ///
    /// # Errors
    /// When the host has no address.
    pub fn new(
        target: &Target,
        tool: &str,
        interrupt: Option<&'static Interrupt>,
    ) -> Result<Self, RunError> {
        let peer = resolve(target)?
            .first()
            .copied()
            .ok_or_else(|| RunError::Resolve {
                host: target.host.clone(),
                cause: std::io::Error::new(
                    std::io::ErrorKind::NotFound,
                    "it has no address of the family asked for",
                ),
            })?;
        Ok(Self {
            peer,
            target: target.clone(),
            here: describe(tool, Some(peer.ip())),
            server: Host {
                tool: "iperf 2".to_owned(),
                name: target.host.clone(),
                ..Host::default()
            },
            connecting: Duration::ZERO,
            clock: ClockEstimate::default(),
            interrupt,
        })
    }

    /// The server's address.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The MTU of the interface towards the server, bytes.
    #[must_use]
    pub fn path_mtu(&self) -> Option<u32> {
        let socket = std::net::UdpSocket::bind(match self.peer {
            SocketAddr::V4(_) => "0.0.0.0:0",
            SocketAddr::V6(_) => "[::]:0",
        })
        .ok()?;
        socket.connect(self.peer).ok()?;
        udp::path_mtu(&socket)
    }

    fn options(&self, plan: &Plan, manner: &Manner) -> Result<ClientOptions, RunError> {
        let absent = |what: &str| {
            RunError::local(
                format!("{what} with iperf 2"),
                std::io::Error::new(
                    std::io::ErrorKind::Unsupported,
                    "the other end does not know it",
                ),
            )
        };
        let bulk = plan.bulk().ok_or_else(|| absent("a round-trip test"))?;
        if matches!(plan, Plan::Udp(plan) if plan.verify) {
            return Err(absent("--verify"));
        }
        let tcp = match plan {
            Plan::Tcp(plan) => Some(plan),
            _ => None,
        };
        let is_set = |setting: fn(&TcpPlan) -> bool| tcp.is_some_and(setting);
        if is_set(|tcp| tcp.mptcp) {
            return Err(absent("--mptcp"));
        }
        if is_set(|tcp| tcp.zero_copy) {
            return Err(absent("--zerocopy"));
        }
        let bytes = match bulk.end {
            TestEnd::Bytes(bytes) if bytes.get() >= u64::MAX - 1 => Some(u64::MAX - 1),
            TestEnd::Bytes(bytes) if bytes.get() % u64::from(bulk.parallel) != 0 => {
                return Err(absent("--bytes that do not divide evenly by --parallel"));
            }
            TestEnd::Bytes(bytes) => Some(bytes.get() / u64::from(bulk.parallel)),
            TestEnd::Time(_) => None,
        };
        // A server is told an amount in 31 bits.
        if bulk.directions != Directions::Up && bytes.is_some_and(|bytes| bytes > 0x7fff_ffff) {
            return Err(absent("more than 2 GiB from a server"));
        }
        Ok(ClientOptions {
            bind: self.target.origin.address,
            device: self.target.origin.device.clone(),
            udp: plan.transport() == Transport::Udp,
            way: match bulk.directions {
                Directions::Up => Way::Up,
                Directions::Down => Way::Reverse,
                Directions::Both => Way::FullDuplex,
            },
            parallel: bulk.parallel,
            length: Some(bulk.length as usize),
            time: bulk.ticks().total(),
            bytes,
            rate: bulk.rate.limit().map(caudal_core::units::BitRate::bps),
            window: bulk.window.map(|window| window.get() as usize),
            mss: tcp.and_then(|tcp| tcp.mss),
            no_delay: is_set(|tcp| tcp.no_delay),
            tos: bulk.dscp.map(|dscp| dscp << 2),
            congestion: tcp.and_then(|tcp| tcp.congestion.clone()),
            discard: is_set(|tcp| tcp.discard),
            source: match &manner.file {
                None => Source::Digits,
                Some(path) if path.as_os_str() == "-" => Source::Input,
                Some(path) => Source::File(path.clone()),
            },
            ..ClientOptions::new(self.peer)
        })
    }

    /// Carries a throughput plan out.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn run(
        &mut self,
        plan: &Plan,
        manner: &Manner,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<TrafficRun, RunError> {
        plan.check()?;
        let options = self.options(plan, manner)?;
        let Some(bulk) = plan.bulk() else {
            return Err(RunError::Protocol("no bulk transfer".to_owned()));
        };
        let mut bell = Bell::new().map_err(|cause| RunError::local("opening a pipe", cause))?;
        let changed = Vec::new();
        on_event(Event::Agreed(Agreement::new(plan, self.peer, &changed)));
        let slowest = Arc::new(Mutex::new(Duration::ZERO));
        let heard = Arc::clone(&slowest);
        let tell: Tell = Arc::new(move |event| {
            if let Heard::Connected(info) = event
                && let Some(took) = info.connecting
            {
                let mut slowest = heard.lock().unwrap_or_else(PoisonError::into_inner);
                *slowest = took.max(*slowest);
            }
        });
        let connections = client::connect(&options, &tell)?;
        self.connecting = *slowest.lock().unwrap_or_else(PoisonError::into_inner);
        let meter = Meter::start(self.peer.ip());
        let legs = client::start(&options, &connections, &bell)?;
        let flows = plan.flows();
        let mut test = Test {
            plan,
            bulk,
            legs,
            flows: &flows,
            start_ns: monotonic_ns(),
            samples: Vec::new(),
        };
        on_event(Event::Started { repeat: None });
        let cut_short = test.attend(&mut bell, manner, self.interrupt, on_event)?;
        on_event(Event::Ending);
        let flows = test.records();
        for sample in test.last_readings(&flows) {
            test.samples.push(sample);
            on_event(Event::Sampled(sample));
        }
        let client_usage = meter.read();
        let failures: Vec<String> = test
            .legs
            .iter()
            .filter_map(|leg| leg.failure.clone())
            .collect();
        if let (Some(failure), true) = (failures.first(), failures.len() == test.legs.len()) {
            return Err(RunError::Flows(failure.clone()));
        }
        Ok(TrafficRun {
            plan: plan.clone(),
            changed,
            flows,
            samples: std::mem::take(&mut test.samples),
            client_usage,
            server_usage: None,
            cut_short,
        })
    }
}

struct Test<'a> {
    plan: &'a Plan,
    bulk: &'a BulkPlan,
    legs: Vec<Leg>,
    flows: &'a [PlannedFlow],
    start_ns: u64,
    samples: Vec<Sample>,
}

impl Test<'_> {
    /// The leg that is this end of a flow.
    fn leg(&self, flow: &PlannedFlow) -> Option<&Leg> {
        let up = flow.direction == Direction::Up;
        let first = self
            .flows
            .iter()
            .find(|other| other.direction == flow.direction)
            .map_or(0, |other| other.id);
        self.legs
            .iter()
            .filter(|leg| sends(leg.info.role) == up)
            .nth((flow.id - first) as usize)
    }

    fn sender(leg: &Leg) -> SenderCounters {
        let mut counters = leg.counters.sender();
        counters.bytes += leg.base;
        if let Link::Tcp(stream) = &*leg.link {
            counters.tcp = tcp::state(stream);
        }
        counters
    }

    fn receiver(&self, leg: &Leg) -> ReceiverCounters {
        let mut counters = leg.counters.receiver(self.start_ns);
        if let Link::Udp(socket) = &*leg.link {
            counters.socket_drops =
                udp::meminfo(socket).map_or(0, |memory| u64::from(memory.drops));
        }
        counters
    }

    /// What the other end's kernel has acknowledged, which it has therefore received.
    fn acknowledged(sent: &SenderCounters, at_ns: u64) -> Option<ReceiverCounters> {
        let acked = sent.tcp?.bytes_acked?;
        // A connection's opening counts as a byte.
        Some(ReceiverCounters {
            bytes: acked.min(sent.bytes),
            last_ns: at_ns,
            ..ReceiverCounters::default()
        })
    }

    fn sample(&mut self, tick: u64, on_event: &mut dyn FnMut(Event)) {
        let mut taken = Vec::new();
        for flow in self.flows {
            let Some(leg) = self.leg(flow) else { continue };
            let at_ns = monotonic_ns().saturating_sub(self.start_ns);
            let mut push = |counters| {
                taken.push(Sample {
                    flow: flow.id,
                    tick,
                    at_ns,
                    counters,
                });
            };
            if flow.direction == Direction::Up {
                let sent = Self::sender(leg);
                push(Counters::Sender(sent));
                if self.plan.transport() == Transport::Tcp {
                    let acked = Self::acknowledged(&sent, at_ns).unwrap_or_default();
                    push(Counters::Receiver(acked));
                } else if tick == 0 {
                    push(Counters::Receiver(ReceiverCounters::default()));
                }
            } else {
                push(Counters::Receiver(self.receiver(leg)));
            }
        }
        for sample in taken {
            self.samples.push(sample);
            on_event(Event::Sampled(sample));
        }
    }

    fn attend(
        &mut self,
        bell: &mut Bell,
        manner: &Manner,
        interrupt: Option<&'static Interrupt>,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<Option<CutShort>, RunError> {
        let ticks = self.bulk.ticks();
        let total = ticks
            .total()
            .map(|total| self.start_ns + total.as_nanos() as u64);
        let start_ns = self.start_ns;
        let due = move |tick: u64| ticks.at(tick).map(|at| start_ns + at.as_nanos() as u64);
        self.sample(0, on_event);
        let mut tick = 1;
        let mut cut = None;
        let (mut progress, mut progress_at) = (0, start_ns);
        let mut stopped = false;
        let mut asked_at = None;
        loop {
            let now = monotonic_ns();
            while due(tick).is_some_and(|at| now >= at) {
                self.sample(tick, on_event);
                tick += 1;
            }
            for leg in &mut self.legs {
                leg.ended();
            }
            if self.legs.iter().all(|leg| leg.over) {
                return Ok(cut);
            }
            let mut until = now + 50_000_000;
            for moment in [due(tick), total]
                .into_iter()
                .flatten()
                .filter(|at| *at > now)
            {
                until = until.min(moment);
            }
            if let (Some(total), false) = (total, stopped)
                && now >= total
            {
                stopped = true;
                self.legs
                    .iter()
                    .filter(|leg| sends(leg.info.role))
                    .for_each(Leg::stop);
            }
            let asked = manner.quit.load(Relaxed)
                || interrupt.is_some_and(|interrupt| interrupt.count() > 0);
            if asked && cut.is_none() {
                asked_at = Some(now);
                cut = Some(CutShort::Interrupted);
                self.legs.iter().for_each(Leg::stop);
            }
            let moved: u64 = self
                .legs
                .iter()
                .map(|leg| leg.counters.bytes.load(Relaxed))
                .sum();
            if moved != progress {
                (progress, progress_at) = (moved, now);
            }
            let late = total.is_some_and(|total| now >= total + LATE_NS)
                || asked_at.is_some_and(|at| now >= at + LATE_NS)
                || total.is_none() && now >= progress_at + IDLE_NS;
            if late {
                if moved == 0 {
                    return Err(RunError::Silent {
                        waiting_for: "payload of the server (versions of iperf before 2.1 do not know it)",
                        seconds: (now - start_ns) / 1_000_000_000,
                    });
                }
                if total.is_none() {
                    cut.get_or_insert_with(|| {
                        CutShort::Lost("nothing was moved for 15 s".to_owned())
                    });
                }
                self.legs
                    .iter()
                    .filter(|leg| !leg.over)
                    .for_each(Leg::abort);
            }
            let wait = Duration::from_nanos(until.saturating_sub(monotonic_ns()).max(1));
            let _ = poll_readable(&[bell.fd()], Some(wait));
            let _ = bell.was_rung();
        }
    }

    fn granted(&self, leg: &Leg) -> Granted {
        match &*leg.link {
            Link::Tcp(stream) => socket::granted_tcp(stream, false),
            Link::Udp(socket) => socket::granted_udp(socket, self.bulk.length),
        }
    }

    fn records(&self) -> Vec<FlowRecord> {
        self.flows
            .iter()
            .map(|flow| {
                let Some(leg) = self.leg(flow) else {
                    return FlowRecord {
                        flow: *flow,
                        sender: None,
                        receiver: None,
                    };
                };
                let end = |counters: Counters, granted: Granted| FlowEnd {
                    flow: flow.id,
                    counters,
                    granted,
                    spacing: None,
                    sequence: None,
                    delay: None,
                    failure: None,
                };
                if flow.direction == Direction::Down {
                    let mut counters = self.receiver(leg);
                    counters.last_ns = counters.last_ns.max(counters.first_ns);
                    let mut here = end(Counters::Receiver(counters), self.granted(leg));
                    here.failure.clone_from(&leg.failure);
                    if self.plan.transport() == Transport::Udp {
                        here.sequence = Some(sequence(
                            counters.datagrams,
                            counters.lost,
                            counters.reordered,
                            counters.duplicate,
                            counters.late,
                        ));
                        here.delay = Some(DelaySummary {
                            n: Some(counters.datagrams),
                            jitter_rfc3550_us: counters.jitter_rfc3550_ns as f64 / 1e3,
                            ..DelaySummary::default()
                        });
                    }
                    return FlowRecord {
                        flow: *flow,
                        sender: None,
                        receiver: Some(here),
                    };
                }
                let sent = Self::sender(leg);
                let mut sender = end(Counters::Sender(sent), self.granted(leg));
                sender.failure.clone_from(&leg.failure);
                let report = *leg
                    .notes
                    .reported
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                let receiver = match report {
                    Some(report) => {
                        let mut there =
                            end(Counters::Receiver(reported(&report)), Granted::default());
                        there.sequence = Some(sequence(
                            report.datagrams.saturating_sub(report.lost),
                            report.lost,
                            report.out_of_order,
                            0,
                            0,
                        ));
                        there.delay = Some(DelaySummary {
                            n: Some(report.datagrams.saturating_sub(report.lost)),
                            jitter_rfc3550_us: report.jitter_us as f64,
                            ..DelaySummary::default()
                        });
                        Some(there)
                    }
                    None if self.plan.transport() == Transport::Tcp => {
                        let at_ns = leg.end_ns().saturating_sub(self.start_ns);
                        Self::acknowledged(&sent, at_ns)
                            .map(|acked| end(Counters::Receiver(acked), Granted::default()))
                    }
                    None => None,
                };
                FlowRecord {
                    flow: *flow,
                    sender: Some(sender),
                    receiver,
                }
            })
            .collect()
    }

    /// The one reading of the other end that its last report is (UDP).
    fn last_readings(&self, records: &[FlowRecord]) -> Vec<Sample> {
        if self.plan.transport() == Transport::Tcp {
            return Vec::new();
        }
        records
            .iter()
            .filter(|record| record.flow.direction == Direction::Up)
            .filter_map(|record| {
                let there = record.receiver.as_ref()?;
                let Counters::Receiver(counters) = there.counters else {
                    return None;
                };
                Some(Sample {
                    flow: record.flow.id,
                    tick: 1,
                    at_ns: counters.last_ns,
                    counters: there.counters,
                })
            })
            .collect()
    }
}

fn reported(report: &ServerReport) -> ReceiverCounters {
    ReceiverCounters {
        bytes: report.bytes,
        datagrams: report.datagrams.saturating_sub(report.lost),
        lost: report.lost,
        reordered: report.out_of_order,
        jitter_rfc3550_ns: report.jitter_us.saturating_mul(1000),
        last_ns: u64::from(report.duration.0) * 1_000_000_000 + u64::from(report.duration.1) * 1000,
        ..ReceiverCounters::default()
    }
}

fn sequence(received: u64, lost: u64, reordered: u64, duplicate: u64, late: u64) -> SequenceCounts {
    SequenceCounts {
        expected: received + lost + late,
        received,
        lost,
        reordered,
        duplicate,
        late,
        ..SequenceTracker::new().finish(None)
    }
}
