//! UDP sinks.

use caudal_analysis::delay::JitterRfc3550;
use caudal_analysis::sequence::{Arrival, SequenceTracker};
use caudal_core::sequence::SequenceCounts;
use caudal_link::time::SimTime;

use super::fragmentation::Reassembly;
use crate::packet::DatagramFragment;
use crate::result::DelayStatistics;

/// The receiver of a UDP flow.
#[derive(Debug, Default)]
pub(crate) struct DatagramSink {
    tracker: SequenceTracker,
    reassembly: Reassembly,
    delay: DelayStatistics,
    jitter: JitterRfc3550,
}

impl DatagramSink {
    /// Takes a fragment; `true` when it completes a datagram that had not arrived before.
    pub(crate) fn receive(&mut self, now: SimTime, fragment: &DatagramFragment) -> bool {
        if !self.reassembly.completes(fragment) {
            return false;
        }
        let is_new = matches!(
            self.tracker.push(fragment.datagram),
            Arrival::InOrder | Arrival::Reordered { .. }
        );
        if is_new {
            let delay_ns = now.ns_since(fragment.sent);
            self.delay.record(delay_ns);
            let delay_ns = i64::try_from(delay_ns).unwrap_or(i64::MAX);
            self.jitter.push(delay_ns);
        }
        is_new
    }

    /// The counts of the `sent` datagrams up to the newest that arrived, as later ones may be on their way. If none arrived,
    /// all are lost.
    pub(crate) fn counts(&self, sent: u64) -> SequenceCounts {
        let none_arrived = self.tracker.counts().highest.is_none();
        self.tracker.finish(none_arrived.then_some(sent))
    }

    pub(crate) const fn delay(&self) -> &DelayStatistics {
        &self.delay
    }

    pub(crate) fn jitter_ns(&self) -> Option<f64> {
        self.jitter.jitter_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_counts_when_its_last_fragment_arrives() {
        let mut sink = DatagramSink::default();
        let fragment = |datagram, index| DatagramFragment {
            datagram,
            sent: SimTime::START,
            index,
            count: 2,
        };
        let arrivals = [(0, 0), (1, 0), (1, 1), (2, 1), (0, 1), (3, 0), (3, 1)];
        let complete = arrivals
            .map(|(datagram, index)| sink.receive(SimTime::from_ns(9), &fragment(datagram, index)));
        assert_eq!(complete, [false, false, true, false, true, false, true]);
        assert_eq!(sink.counts(4).lost, 1);
        // Datagrams after the newest that arrived may still arrive; without any arrival, all are lost.
        assert_eq!(sink.counts(9).lost, 1);
        assert_eq!(DatagramSink::default().counts(9).lost, 9);
    }
}
