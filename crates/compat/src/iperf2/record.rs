//! The recording of a client's test: one run of its own flows and of those in which the server connected back.

use crate::recording::{ClientEnd, ClientRecording};
use caudal_core::event::{Agreement, EndReport, EndedFlow, Event, View};
use caudal_core::plan::{BulkPlanRecord, Directions, PlanRecord, Rate, TestEnd};
use caudal_core::sample::{Counters, ReceiverCounters, Role, Sample, SenderCounters};
use caudal_core::units::{BitRate, ByteCount};
use caudal_foreign::iperf2::{Iperf2Request, Iperf2Session};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::iperf2::TestMode;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The recording of a client's test.
pub(super) struct TestRecording {
    recording: ClientRecording,
    peer: IpAddr,
    has_intervals: bool,
    took_turns: bool,
    began_ns: u64,
    /// The flows, by session and by number in it.
    flows: BTreeMap<(u32, u32), RecordedFlow>,
}

/// A flow of the recorded run.
#[derive(Debug, Clone, Copy)]
struct RecordedFlow {
    /// Its number in the run.
    id: u32,
    /// Its start, ns after that of the test.
    start_ns: u64,
    /// Its last reading.
    last: Sample,
}

impl TestRecording {
    /// Begins the recording of the test of a request, which `command` runs.
    pub(super) fn start(request: &Iperf2Request, command: String) -> Self {
        let mut recording = ClientRecording::start("iperf", command);
        recording.event(&Event::Agreed(Agreement {
            repeat: None,
            plan: plan_record(request),
            changed: Vec::new(),
        }));
        Self {
            recording,
            peer: request.peer.ip().to_canonical(),
            has_intervals: request.interval.is_some(),
            took_turns: request.mode == TestMode::Tradeoff,
            began_ns: monotonic_ns(),
            flows: BTreeMap::new(),
        }
    }

    /// Takes an event of a session: that of the test, or one in which the server connected back.
    pub(super) fn take(&mut self, session: &Iperf2Session, event: &Event) {
        match event {
            Event::Opened(connection) => {
                let start_ns = match session.number {
                    0 => 0,
                    _ => monotonic_ns().saturating_sub(self.began_ns),
                };
                let key = (session.number, connection.flow.id);
                self.open(key, connection.role, start_ns);
            }
            Event::Sampled(sample) => {
                let key = (session.number, sample.flow);
                self.push(key, sample.tick, sample.at_ns, sample.counters);
            }
            Event::FlowEnded(ended) => self.end((session.number, ended.end.flow), ended),
            Event::Reported(report) => self.report(session.number, report),
            _ => {}
        }
    }

    fn open(&mut self, key: (u32, u32), role: Role, start_ns: u64) {
        let id = self.flows.len() as u32;
        let counters = match role {
            Role::Sender => Counters::Sender(SenderCounters::default()),
            Role::Receiver => Counters::Receiver(ReceiverCounters::default()),
        };
        let last = Sample {
            flow: id,
            tick: 0,
            at_ns: start_ns,
            counters,
        };
        self.flows.insert(key, RecordedFlow { id, start_ns, last });
        self.recording.event(&Event::Sampled(last));
    }

    /// Records a reading that was made `at_ns` after the start of the flow.
    fn push(&mut self, key: (u32, u32), tick: u64, at_ns: u64, counters: Counters) {
        let Some(flow) = self.flows.get_mut(&key) else {
            return;
        };
        flow.last = Sample {
            flow: flow.id,
            tick,
            at_ns: flow.start_ns + at_ns,
            counters,
        };
        self.recording.event(&Event::Sampled(flow.last));
    }

    fn end(&mut self, key: (u32, u32), ended: &EndedFlow) {
        let Some(flow) = self.flows.get(&key).copied() else {
            return;
        };
        let counters = ended.end.counters;
        let is_rest = self.has_intervals
            && flow.last.tick > 0
            && received_bytes(&counters) > received_bytes(&flow.last.counters);
        // Directions that took turns are told apart by the times of their intervals.
        if is_rest || self.took_turns && !self.has_intervals {
            self.push(key, flow.last.tick + 1, ended.at_ns, counters);
        }
        let mut ended = ended.clone();
        ended.end.flow = flow.id;
        self.recording.event(&Event::FlowEnded(ended));
    }

    fn report(&mut self, session: u32, report: &EndReport) {
        let mut report = report.clone();
        let flows = &self.flows;
        report
            .flows
            .retain_mut(|totals| match flows.get(&(session, totals.flow)) {
                Some(flow) => {
                    totals.flow = flow.id;
                    true
                }
                None => false,
            });
        self.recording.event(&Event::Reported(report));
    }

    /// Records the test.
    pub(super) fn finish(self, end: ClientEnd<'_>) {
        self.recording.finish(Some(self.peer), end);
    }
}

const fn received_bytes(counters: &Counters) -> u64 {
    match counters {
        Counters::Sender(_) => 0,
        Counters::Receiver(received) => received.bytes,
    }
}

/// The plan of a request.
fn plan_record(request: &Iperf2Request) -> PlanRecord {
    let keys = BulkPlanRecord {
        peer: Some(request.peer.to_string().into()),
        directions: Some(match request.mode {
            TestMode::Up => Directions::Up,
            TestMode::Reverse => Directions::Down,
            TestMode::FullDuplex | TestMode::Dual | TestMode::Tradeoff => Directions::Both,
        }),
        parallel: Some(request.parallel),
        end: match (request.bytes, request.time) {
            (Some(bytes), _) => Some(TestEnd::Bytes(ByteCount::new(bytes))),
            (None, time) => time.map(TestEnd::Time),
        },
        rate: request
            .rate
            .map(|rate| Rate::Limit(BitRate::from_bps(rate))),
        length: Some(u64::from(request.block_length())),
        congestion: request.congestion.clone().map(|name| Some(name.into())),
        ..BulkPlanRecord::default()
    };
    PlanRecord::bulk_transfer(Some(request.transport), keys)
}
