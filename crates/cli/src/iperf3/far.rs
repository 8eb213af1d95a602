//! Our own tests with a server of iperf3: its language, our figures.
//!
//! Such a server tells totals, at the end. What its kernel has acknowledged while a TCP upload runs is
//! known here; of a UDP upload nothing is, so that it makes one interval. What it does not count is not
//! known.

use caudal_core::event::{Agreement, Event};
use caudal_core::host::Host;
use caudal_core::plan::{
    BulkPlan, Direction, Directions, Omit, Plan, PlanError, Quantity, TcpPlan, TestEnd, Transport,
};
use caudal_core::sample::{
    Counters, DelaySummary, FlowEnd, FlowRecord, Granted, ReceiverCounters, Role, Sample,
    SenderCounters,
};
use caudal_core::sequence::SequenceCounts;
use caudal_core::units::ByteCount;
use caudal_engine::iperf3::{
    Ending, Iperf3Client, Iperf3Error, Iperf3Event, Iperf3Run, Request, Stream,
};
use caudal_engine::{CutShort, Manner, RunError, Target, TrafficRun, describe};
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf3::cookie::COOKIE;
use caudal_wire::iperf3::{Complaint, MOST_STREAMS, Parameters, Protocol, StreamResult};
use caudal_wire::message::Refusal;
use std::net::SocketAddr;
use std::time::Duration;

/// What TCP counts as acknowledged before the first byte of payload: the cookie, and the SYN.
const BEFORE_PAYLOAD: u64 = COOKIE as u64 + 1;

/// A server of iperf3, found to be one.
pub struct Iperf3Far {
    target: Target,
    address: SocketAddr,
    /// The connection it was found with, for the first run.
    first: Option<Iperf3Client>,
    interrupt: &'static Interrupt,
    /// What this machine says of itself.
    pub here: Host,
    /// That its server is iperf3 is all that is known.
    pub there: Host,
    /// How long connecting took.
    pub connecting: Duration,
    /// The round-trip time of the control connection, µs.
    pub idle_rtt_us: Option<f64>,
    /// The path MTU the kernel knows, bytes.
    pub path_mtu: Option<u32>,
}

fn request(target: &Target) -> Request {
    Request {
        target: target.clone(),
        parameters: Parameters::default(),
        length: None,
        time: None,
        client_port: None,
        interval: None,
        connect_timeout: None,
        receive_timeout: Duration::from_secs(120),
        send_timeout: None,
        manner: Manner::default(),
    }
}

impl Iperf3Far {
    /// Connects, and waits until the server has shown that it is iperf3's.
    ///
    /// # Errors
    /// When nobody is there, or somebody else.
    pub fn connect(
        target: Target,
        within: Duration,
        interrupt: &'static Interrupt,
    ) -> Result<Self, RunError> {
        let mut client = Iperf3Client::connect(request(&target), Some(interrupt)).map_err(told)?;
        let address = client.peer();
        client.await_question(within).map_err(told)?;
        Ok(Self {
            address,
            here: describe(crate::peer::TOOL, Some(address.ip())),
            there: Host {
                tool: "iperf3".to_owned(),
                name: "iperf3".to_owned(),
                ..Host::default()
            },
            connecting: client.connecting(),
            idle_rtt_us: client.rtt_us().map(f64::from),
            path_mtu: client.path_mtu(),
            first: Some(client),
            target,
            interrupt,
        })
    }

    /// Its address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Carries a plan out in iperf3's way.
    ///
    /// # Errors
    /// When iperf3 knows no such test, or nothing could be measured.
    pub fn run(
        &mut self,
        plan: &Plan,
        manner: &Manner,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<TrafficRun, RunError> {
        let Some(bulk) = plan.bulk() else {
            return Err(RunError::Protocol("no bulk transfer".to_owned()));
        };
        let parameters = parameters(plan, bulk)?;
        let mut agreed = plan.clone();
        let is_udp = plan.transport() == Transport::Udp;
        let mut interval = bulk.interval;
        if let (true, true, TestEnd::Time(time)) =
            (is_udp, bulk.directions != Directions::Down, bulk.end)
        {
            interval = time;
        }
        if let Some(agreed) = agreed.bulk_mut() {
            agreed.interval = interval;
        }
        let mut client = match self.first.take() {
            Some(client) => client,
            None => {
                Iperf3Client::connect(request(&self.target), Some(self.interrupt)).map_err(told)?
            }
        };
        client.want(parameters.clone(), bulk.duration(), interval);
        client.carry_as(manner.clone());
        on_event(Event::Agreed(Agreement::new(&agreed, self.address(), &[])));
        let mut course = Course::default();
        let outcome = client.run(&mut |event| course.note(&event, is_udp, on_event));
        on_event(Event::Ending);
        let run = match outcome {
            Ok(run) => course.whole(agreed, &run, on_event),
            Err(error) => course.cut(agreed, told(error))?,
        };
        Ok(run)
    }
}

/// A failure in the words of our own client.
fn told(error: Iperf3Error) -> RunError {
    let refused = |reason, complaint: Complaint| RunError::Refused {
        reason,
        message: complaint.words(),
    };
    match error {
        Iperf3Error::Run(error) => error,
        Iperf3Error::Complaint(complaint) => refused(Refusal::Other, complaint),
        Iperf3Error::Denied => refused(Refusal::Full, Complaint::ACCESS_DENIED),
        Iperf3Error::ServerTerminated => refused(Refusal::Stopping, Complaint::SERVER_TERMINATED),
        Iperf3Error::Interrupted => RunError::Interrupted,
        Iperf3Error::Idle(seconds) => RunError::Silent {
            waiting_for: "any data",
            seconds,
        },
        Iperf3Error::Closed => RunError::Lost {
            doing: "speaking iperf3's language to it",
            cause: std::io::ErrorKind::ConnectionAborted.into(),
        },
        other @ Iperf3Error::Unknown(_) => RunError::Protocol(other.to_string()),
    }
}

/// A plan as iperf3's parameters.
fn parameters(plan: &Plan, bulk: &BulkPlan) -> Result<Parameters, PlanError> {
    let tcp = match plan {
        Plan::Tcp(plan) => Some(plan),
        _ => None,
    };
    let is_set = |setting: fn(&TcpPlan) -> bool| tcp.is_some_and(setting);
    let cannot = |quantity: Quantity, value: String, allowed: &str| {
        Err(PlanError {
            quantity,
            value,
            allowed: format!("with iperf3 {allowed}"),
        })
    };
    if bulk.parallel > MOST_STREAMS {
        return cannot(
            Quantity::ParallelFlows,
            bulk.parallel.to_string(),
            "the maximum is 128",
        );
    }
    if matches!(plan, Plan::Udp(plan) if plan.verify) {
        return cannot(
            Quantity::Verification,
            "given".to_owned(),
            "payload cannot be compared",
        );
    }
    if plan.transport() == Transport::Tcp && bulk.length > 1 << 20 {
        return cannot(
            Quantity::Length,
            bulk.length.to_string(),
            "the maximum is 1048576",
        );
    }
    let omit_s = match bulk.omit {
        Omit::Time(omitted) if omitted.subsec_nanos() != 0 || omitted.as_secs() > 600 => {
            let value = format!("{} s", omitted.as_secs_f64());
            return cannot(
                Quantity::WarmUp,
                value,
                "it must be whole seconds, at most 600",
            );
        }
        Omit::Time(omitted) => omitted.as_secs() as u32,
        Omit::Nothing | Omit::Auto => 0,
    };
    let (time_s, bytes) = match bulk.end {
        TestEnd::Time(time) if time > Duration::from_secs(86_400) => {
            let value = format!("{} s", time.as_secs_f64());
            return cannot(Quantity::Duration, value, "the maximum is 86400 s");
        }
        TestEnd::Time(time) => (time.as_secs_f64().ceil() as u32, 0),
        TestEnd::Bytes(bytes) => (0, bytes.get()),
    };
    Ok(Parameters {
        protocol: match plan.transport() {
            Transport::Tcp => Protocol::Tcp,
            Transport::Udp => Protocol::Udp,
        },
        omit_s,
        time_s,
        bytes,
        parallel: bulk.parallel,
        reverse: bulk.directions == Directions::Down,
        bidirectional: bulk.directions == Directions::Both,
        mss: tcp.and_then(|tcp| tcp.mss),
        no_delay: is_set(|tcp| tcp.no_delay),
        mptcp: is_set(|tcp| tcp.mptcp),
        window: bulk.window.map(ByteCount::get),
        length: bulk.length,
        rate_bps: bulk
            .rate
            .limit()
            .map_or(0, caudal_core::units::BitRate::bps),
        tos: bulk.dscp.map(|dscp| dscp << 2),
        congestion: tcp.and_then(|tcp| tcp.congestion.clone()),
        zero_copy: is_set(|tcp| tcp.zero_copy),
        skip_rx_copy: is_set(|tcp| tcp.discard),
        client_version: Some(super::VERSION.to_owned()),
        ..Parameters::default()
    })
}

/// What has been seen of a running test.
#[derive(Default)]
struct Course {
    streams: Vec<Stream>,
    samples: Vec<Sample>,
    last: Vec<Sample>,
    /// The last tick.
    ticks: u64,
    started: bool,
}

/// What the far kernel has acknowledged of a TCP upload, as its receiver's counter.
fn acknowledged(sample: &Sample) -> Option<Sample> {
    let Counters::Sender(sender) = sample.counters else {
        return None;
    };
    let acked = match sample.tick {
        0 => 0,
        _ => sender.tcp?.bytes_acked?.saturating_sub(BEFORE_PAYLOAD),
    };
    Some(Sample {
        counters: Counters::Receiver(ReceiverCounters {
            bytes: acked,
            last_ns: sample.at_ns,
            ..ReceiverCounters::default()
        }),
        ..*sample
    })
}

impl Course {
    fn push(&mut self, sample: Sample, on_event: &mut dyn FnMut(Event)) {
        self.samples.push(sample);
        on_event(Event::Sampled(sample));
    }

    fn note(&mut self, event: &Iperf3Event, is_udp: bool, on_event: &mut dyn FnMut(Event)) {
        match event {
            Iperf3Event::Agreed { .. } => {}
            Iperf3Event::Opened { streams } => self.streams.clone_from(streams),
            Iperf3Event::Sampled { samples, .. } => {
                if !self.started {
                    self.started = true;
                    on_event(Event::Started { repeat: None });
                }
                for sample in samples {
                    self.ticks = self.ticks.max(sample.tick);
                    self.push(*sample, on_event);
                    if let (false, Some(there)) = (is_udp, acknowledged(sample)) {
                        self.push(there, on_event);
                    }
                }
                self.last.clone_from(samples);
            }
            Iperf3Event::Ended(ending) => self.last.clone_from(&ending.last),
        }
    }

    /// A test that went its whole way.
    fn whole(mut self, plan: Plan, run: &Iperf3Run, on_event: &mut dyn FnMut(Event)) -> TrafficRun {
        if plan.transport() == Transport::Udp {
            self.one_interval(&plan, &run.ending, on_event);
        }
        let flows = plan
            .flows()
            .into_iter()
            .map(|flow| {
                let own = run.ends.iter().find(|end| end.flow == flow.id).cloned();
                let stream = run.streams.iter().find(|stream| stream.flow == flow.id);
                let theirs = stream
                    .zip(run.ending.theirs.as_ref())
                    .and_then(|(stream, theirs)| theirs.stream(stream.id))
                    .map(|result| there(flow.id, flow.direction, result, run, &plan));
                let (sender, receiver) = match flow.direction {
                    Direction::Up => (own, theirs),
                    Direction::Down => (theirs, own),
                };
                FlowRecord {
                    flow,
                    sender,
                    receiver,
                }
            })
            .collect();
        TrafficRun {
            plan,
            changed: Vec::new(),
            flows,
            samples: self.samples,
            client_usage: run.usage,
            server_usage: None,
            cut_short: None,
        }
    }

    /// Nothing is known of a UDP upload before its end: it is one interval.
    fn one_interval(&mut self, plan: &Plan, ending: &Ending, on_event: &mut dyn FnMut(Event)) {
        let warm = plan.bulk().map_or(0, |bulk| bulk.ticks().first_measured());
        let uploads: Vec<(u32, u32)> = self
            .streams
            .iter()
            .filter(|stream| stream.sends)
            .map(|stream| (stream.flow, stream.id))
            .collect();
        for (flow, id) in uploads {
            let Some(result) = ending.theirs.as_ref().and_then(|theirs| theirs.stream(id)) else {
                continue;
            };
            for tick in 0..=self.ticks {
                let begins = self
                    .samples
                    .iter()
                    .find(|sample| sample.tick == tick && sample.flow == flow);
                let at_ns = begins.map_or(0, |sample| sample.at_ns);
                let counters = if tick > warm && tick == self.ticks {
                    received(result, at_ns)
                } else {
                    ReceiverCounters::default()
                };
                let sample = Sample {
                    flow,
                    tick,
                    at_ns,
                    counters: Counters::Receiver(counters),
                };
                self.push(sample, on_event);
            }
        }
    }

    /// A test that was cut short: what this end has counted stands.
    fn cut(self, plan: Plan, error: RunError) -> Result<TrafficRun, RunError> {
        let moved = self.last.iter().any(|sample| match sample.counters {
            Counters::Sender(counters) => counters.bytes > 0,
            Counters::Receiver(counters) => counters.bytes > 0,
        });
        if !moved {
            return Err(error);
        }
        let flows = plan
            .flows()
            .into_iter()
            .map(|flow| {
                let own = self.last.iter().find(|sample| sample.flow == flow.id);
                let end = own.map(|sample| end_of(flow.id, sample.counters));
                let is = |role: Role| {
                    end.clone().filter(|end| {
                        matches!(end.counters, Counters::Sender(_)) == (role == Role::Sender)
                    })
                };
                FlowRecord {
                    flow,
                    sender: is(Role::Sender),
                    receiver: is(Role::Receiver),
                }
            })
            .collect();
        Ok(TrafficRun {
            plan,
            changed: Vec::new(),
            flows,
            samples: self.samples,
            client_usage: caudal_core::host::Usage::default(),
            server_usage: None,
            cut_short: Some(match error {
                RunError::Interrupted => CutShort::Interrupted,
                RunError::Refused { message, .. } => CutShort::ByServer(message),
                other => CutShort::Lost(other.to_string()),
            }),
        })
    }
}

fn end_of(flow: u32, counters: Counters) -> FlowEnd {
    let sequence = match counters {
        Counters::Receiver(received) if received.datagrams > 0 => Some(SequenceCounts {
            duplicate: received.duplicate,
            reordered: received.reordered,
            late: received.late,
            ..sequence(received.datagrams + received.lost, received.lost)
        }),
        _ => None,
    };
    FlowEnd {
        flow,
        counters,
        granted: Granted::default(),
        spacing: None,
        sequence,
        delay: None,
        failure: None,
    }
}

fn sequence(packets: u64, lost: u64) -> SequenceCounts {
    SequenceCounts {
        expected: packets,
        received: packets.saturating_sub(lost),
        lost: lost.min(packets),
        duplicate: 0,
        reordered: 0,
        late: 0,
        absurd: 0,
        highest: packets.checked_sub(1),
        reorder_extent_max: 0,
        n_reordering: 0,
        loss_runs: caudal_core::sequence::LossRuns::default(),
    }
}

fn received(result: &StreamResult, last_ns: u64) -> ReceiverCounters {
    ReceiverCounters {
        bytes: result.bytes,
        datagrams: result.datagrams().saturating_sub(result.lost()),
        lost: result.lost(),
        jitter_rfc3550_ns: (result.jitter_s * 1e9) as u64,
        last_ns,
        ..ReceiverCounters::default()
    }
}

/// What the far end has told of a flow.
fn there(
    flow: u32,
    direction: Direction,
    result: &StreamResult,
    run: &Iperf3Run,
    plan: &Plan,
) -> FlowEnd {
    let base = run.base.iter().find(|sample| sample.flow == flow);
    let base_ns = base.map_or(0, |sample| sample.at_ns);
    let end_ns = base_ns + (result.end_s.unwrap_or(0.0).max(0.0) * 1e9) as u64;
    if direction == Direction::Down {
        return FlowEnd {
            counters: Counters::Sender(SenderCounters {
                bytes: result.bytes,
                datagrams: result.packets,
                ..SenderCounters::default()
            }),
            ..end_of(flow, Counters::Sender(SenderCounters::default()))
        };
    }
    let mut counters = received(result, end_ns);
    if plan.transport() == Transport::Tcp {
        // It does not count what came in the warm-up; the kernel's acknowledgements tell.
        let warm = base.and_then(acknowledged).map(|sample| sample.counters);
        if let Some(Counters::Receiver(warm)) = warm {
            counters.bytes += warm.bytes;
        }
    }
    let mut end = end_of(flow, Counters::Receiver(counters));
    if plan.transport() == Transport::Udp {
        end.sequence = Some(sequence(result.packets, result.errors));
        end.delay = Some(DelaySummary {
            n: Some(result.packets.saturating_sub(result.errors)),
            jitter_rfc3550_us: result.jitter_s * 1e6,
            ..DelaySummary::default()
        });
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{Rate, UdpPlan};

    fn plan() -> TcpPlan {
        TcpPlan {
            bulk: BulkPlan {
                directions: Directions::Both,
                parallel: 2,
                end: TestEnd::Time(Duration::from_millis(1500)),
                interval: Duration::from_secs(1),
                omit: Omit::Time(Duration::from_secs(2)),
                rate: Rate::Max,
                length: 1 << 17,
                window: Some(ByteCount::new(65_536)),
                dscp: Some(46),
                same_machine: false,
            },
            mss: None,
            congestion: None,
            no_delay: false,
            mptcp: false,
            discard: true,
            zero_copy: false,
        }
    }

    #[test]
    fn a_plan_becomes_the_parameters_that_ask_for_the_same() {
        let asked = parameters(&Plan::Tcp(plan()), &plan().bulk).unwrap();
        assert!(asked.bidirectional && asked.skip_rx_copy && !asked.reverse);
        assert_eq!((asked.time_s, asked.omit_s, asked.parallel), (2, 2, 2));
        assert_eq!((asked.tos, asked.window), (Some(184), Some(65_536)));
    }

    #[test]
    fn a_plan_iperf3_cannot_carry_out_is_refused_by_its_quantity() {
        let refused = |plan: &Plan| {
            let bulk = plan.bulk().unwrap();
            parameters(plan, bulk).unwrap_err().quantity
        };
        let (mut parallel, mut omit) = (plan(), plan());
        parallel.bulk.parallel = 129;
        omit.bulk.omit = Omit::Time(Duration::from_millis(500));
        let verify = UdpPlan {
            bulk: plan().bulk,
            verify: true,
        };
        assert_eq!(
            [Plan::Tcp(parallel), Plan::Tcp(omit), Plan::Udp(verify)].map(|plan| refused(&plan)),
            [
                Quantity::ParallelFlows,
                Quantity::WarmUp,
                Quantity::Verification
            ]
        );
    }
}
