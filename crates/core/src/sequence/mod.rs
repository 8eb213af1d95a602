//! The counts of numbered datagrams at the receiver: in order, reordered, duplicate, late or lost.

mod counts;

pub use counts::{LossRuns, SequenceCounts};
