//! The counts of numbered datagrams at the receiver: in order, reordered, duplicate, late or lost.

mod counts;
mod periods;

pub use counts::{LossRuns, SequenceCounts};
pub use periods::{LossCycles, LossPeriods, LossRun};
