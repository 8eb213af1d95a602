//! A bulk transfer with a server that reports nothing before its end, as it happens.
//!
//! The receiver of a TCP upload is what its kernel has acknowledged, and that of a UDP upload what the server's report contains:
//! one interval.

use caudal_core::event::{CutShort, EndedFlow, Event, FlowTotals};
use caudal_core::host::Usage;
use caudal_core::plan::{Plan, Transport};
use caudal_core::sample::{Counters, FlowEnd, ReceiverCounters, Sample, SenderCounters};
use caudal_engine::{BulkOutcome, flow_records};

/// The record of a running test.
pub(crate) struct PeerRecord {
    plan: Plan,
    /// The bytes that are acknowledged before the first of the payload.
    bytes_before: u64,
    samples: Vec<Sample>,
    /// The ends of this end's flows.
    pub(crate) ended: Vec<EndedFlow>,
}

impl PeerRecord {
    /// The record of a test with this plan, whose connections carry `bytes_before` before their payload.
    pub(crate) const fn new(plan: Plan, bytes_before: u64) -> Self {
        Self {
            plan,
            bytes_before,
            samples: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// The plan.
    pub(crate) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Takes an event of this end, and shows what a test shows whatever its peer speaks.
    pub(crate) fn take(&mut self, event: Event, events: &mut dyn FnMut(Event)) {
        match event {
            Event::Sampled(sample) => {
                self.push(sample, events);
                if let Some(received) = self.receiver_sample(&sample) {
                    self.push(received, events);
                }
            }
            Event::FlowEnded(ended) => self.ended.push(ended),
            Event::Started { .. } | Event::Ending => events(event),
            _ => {}
        }
    }

    /// Adds a reading.
    pub(crate) fn push(&mut self, sample: Sample, events: &mut dyn FnMut(Event)) {
        self.samples.push(sample);
        events(Event::Sampled(sample));
    }

    /// Adds what the server reports of a UDP upload. All that is known of one is its end: one interval.
    pub(crate) fn push_report(&mut self, report: &FlowTotals, events: &mut dyn FnMut(Event)) {
        let received = receiver_counters(report);
        let sample = Sample {
            flow: report.flow,
            tick: 1,
            at_ns: received.last_ns,
            counters: Counters::Receiver(received),
        };
        self.push(sample, events);
    }

    /// The time of this end's reading of a flow, ns after the start; 0 where there was none.
    pub(crate) fn read_ns(&self, flow: u32, tick: u64) -> u64 {
        let is_it = |sample: &&Sample| sample.tick == tick && sample.flow == flow;
        let read = self.samples.iter().find(is_it);
        read.map_or(0, |sample| sample.at_ns)
    }

    /// The end of a flow at its receiver when this end, its sender over TCP, has ended with these counters.
    pub(crate) fn acknowledged_end(&self, flow: u32, sent: &SenderCounters) -> Option<FlowEnd> {
        let ended = self.ended.iter().find(|ended| ended.end.flow == flow);
        let at_ns = ended.map_or(0, |ended| ended.at_ns);
        let received = acknowledged(sent, self.bytes_before, at_ns)?;
        Some(FlowEnd::from_counters(flow, Counters::Receiver(received)))
    }

    /// The receiver's end of an upload when its sender was read; `None` of a download, and of UDP after its start.
    fn receiver_sample(&self, sample: &Sample) -> Option<Sample> {
        let Counters::Sender(sent) = sample.counters else {
            return None;
        };
        let received = match self.plan.transport() {
            Transport::Tcp => acknowledged(&sent, self.bytes_before, sample.at_ns),
            Transport::Udp => None,
        };
        let received = match sample.tick {
            0 => received.unwrap_or_default(),
            _ => received?,
        };
        Some(Sample {
            counters: Counters::Receiver(received),
            ..*sample
        })
    }

    /// The measurements, with the final reports of both ends.
    pub(crate) fn into_outcome(
        self,
        ends: &[FlowEnd],
        client_usage: Usage,
        cut_short: Option<CutShort>,
    ) -> BulkOutcome {
        BulkOutcome {
            flows: flow_records(&self.plan.flows(), ends),
            plan: self.plan,
            changed: Vec::new(),
            server_set_rate: false,
            samples: self.samples,
            arrivals: Vec::new(),
            episodes: Vec::new(),
            client_usage,
            server_usage: None,
            cut_short,
        }
    }
}

/// The bytes that the server's kernel has acknowledged at `at_ns`, and has therefore received; `None` where this kernel does not
/// count them.
pub(crate) fn acknowledged(
    sent: &SenderCounters,
    bytes_before: u64,
    at_ns: u64,
) -> Option<ReceiverCounters> {
    let acknowledged = sent.tcp?.bytes_acked?.saturating_sub(bytes_before);
    Some(ReceiverCounters {
        // The opening of a connection counts as a byte.
        bytes: acknowledged.min(sent.bytes),
        last_ns: at_ns,
        ..ReceiverCounters::default()
    })
}

/// The counters of a receiver that reports these totals.
pub(crate) fn receiver_counters(report: &FlowTotals) -> ReceiverCounters {
    let lost = report.lost.unwrap_or(0);
    ReceiverCounters {
        bytes: report.bytes,
        datagrams: report.datagrams.unwrap_or(0).saturating_sub(lost),
        lost,
        reordered: report.reordered.unwrap_or(0),
        jitter_rfc3550_ns: (report.jitter_s.unwrap_or(0.0) * 1e9) as u64,
        last_ns: (report.elapsed_s * 1e9) as u64,
        ..ReceiverCounters::default()
    }
}

/// `true` when anything was sent or received.
pub(crate) fn has_bytes<'a>(mut ends: impl Iterator<Item = &'a FlowEnd>) -> bool {
    ends.any(|end| match end.counters {
        Counters::Sender(sent) => sent.bytes > 0,
        Counters::Receiver(received) => received.bytes > 0,
    })
}
