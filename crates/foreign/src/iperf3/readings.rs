//! The readings of a test's streams by one end.

use caudal_core::event::{CutShort, EndedFlow, EndedTest, Event};
use caudal_core::plan::Ticks;
use caudal_core::sample::{
    Counters, FlowEnd, ReceiverCounters, Sample, SenderCounters, TcpSnapshot,
};
use caudal_flow::FlowSet;

/// The readings of a test's streams by one end.
pub(super) struct Readings {
    ticks: Ticks,
    /// The number of the next reading.
    tick: u64,
    /// The readings at the end of the warm-up.
    pub(super) base: Vec<Sample>,
    /// The time of the latest reading, ns after the start.
    pub(super) latest_ns: u64,
}

impl Readings {
    pub(super) const fn new(ticks: Ticks) -> Self {
        Self {
            ticks,
            tick: 0,
            base: Vec::new(),
            latest_ns: 0,
        }
    }

    /// The time at which the streams are to be read next, ns of the monotonic clock.
    pub(super) fn due_ns(&self, set: &FlowSet) -> Option<u64> {
        let at = self.ticks.at(self.tick)?;
        Some(set.start_ns() + u64::try_from(at.as_nanos()).unwrap_or(u64::MAX / 4))
    }

    /// Reads the streams.
    pub(super) fn read(&mut self, set: &FlowSet, events: &mut dyn FnMut(Event)) {
        let samples = match self.tick {
            0 => at_start(set),
            tick => set.sample(tick),
        };
        if self.tick == self.ticks.first_measured() {
            self.base.clone_from(&samples);
        }
        self.latest_ns = samples.last().map_or(0, |sample| sample.at_ns);
        self.tick += 1;
        samples.into_iter().map(Event::Sampled).for_each(events);
    }

    /// Takes the start for the end of the warm-up of a test that ended in its warm-up.
    pub(super) fn ensure_base(&mut self, set: &FlowSet) {
        if self.base.is_empty() {
            self.base = at_start(set);
        }
    }

    /// The last readings, at the end of the test or with the last byte that arrived after it.
    pub(super) fn last(&self, set: &FlowSet, ended_ns: u64) -> Vec<Sample> {
        let mut last = set.sample(self.tick);
        for sample in &mut last {
            sample.at_ns = match sample.counters {
                Counters::Receiver(received) => ended_ns.max(received.last_ns),
                Counters::Sender(_) => ended_ns,
            };
        }
        last
    }

    /// The readings of a test that was cut short.
    pub(super) fn at_end(&self, set: &FlowSet) -> Vec<Sample> {
        set.sample(self.tick)
    }
}

/// Shows the last readings as the ends of their flows.
pub(super) fn send_flow_ends(last: &[Sample], events: &mut dyn FnMut(Event)) {
    for sample in last {
        events(Event::FlowEnded(EndedFlow {
            end: FlowEnd::from_counters(sample.flow, sample.counters),
            at_ns: sample.at_ns,
        }));
    }
}

/// The end of a test with these last readings.
pub(super) fn ended_test(last: &[Sample], cut_short: Option<CutShort>) -> EndedTest {
    let ended_ns = last.iter().map(|sample| sample.at_ns).max();
    let counters = last.iter().map(|sample| &sample.counters);
    EndedTest::from_counters(counters, ended_ns.unwrap_or(0) as f64 / 1e9, cut_short)
}

/// The readings at the start of a test: nothing has been counted then, however late they are made.
pub(super) fn at_start(set: &FlowSet) -> Vec<Sample> {
    let mut samples = set.sample(0);
    for sample in &mut samples {
        sample.at_ns = 0;
        sample.counters = match sample.counters {
            Counters::Sender(now) => Counters::Sender(SenderCounters {
                cpu_ns: now.cpu_ns,
                cpu_wait_ns: now.cpu_wait_ns,
                tcp: now.tcp.map(|tcp| TcpSnapshot {
                    retransmits: 0,
                    retransmitted_bytes: tcp.retransmitted_bytes.map(|_| 0),
                    ..tcp
                }),
                ..SenderCounters::default()
            }),
            Counters::Receiver(now) => Counters::Receiver(ReceiverCounters {
                cpu_ns: now.cpu_ns,
                cpu_wait_ns: now.cpu_wait_ns,
                ..ReceiverCounters::default()
            }),
        };
    }
    samples
}
