//! The readings of what arrives at one end of a bulk transfer.

use caudal_core::arrivals::{ArrivalReading, ArrivalSeries};
use caudal_core::plan::Direction;
use caudal_flow::FlowSet;

/// The series of a set's arrivals, recorded while it runs.
#[derive(Debug)]
pub(super) struct ArrivalRecorder(ArrivalSeries);

impl ArrivalRecorder {
    /// A recorder of the direction in which this end receives.
    pub(super) fn new(direction: Direction) -> Self {
        Self(ArrivalSeries::new(direction))
    }

    /// The time of the next reading, ns of the monotonic clock; `None` before the set is started, and when it is over.
    pub(super) fn due_ns(&self, set: &FlowSet) -> Option<u64> {
        (set.is_started() && !set.is_all_over()).then(|| set.start_ns() + self.0.due_ns())
    }

    /// Reads what has arrived, where that is due at `now_ns`.
    pub(super) fn advance(&mut self, now_ns: u64, set: &FlowSet) {
        if self.due_ns(set).is_some_and(|due_ns| now_ns >= due_ns) {
            self.0.record(ArrivalReading {
                at_ns: now_ns - set.start_ns(),
                bytes: set.received_bytes(),
            });
        }
    }

    /// The series.
    pub(super) fn into_series(self) -> ArrivalSeries {
        self.0
    }
}
