//! Exact accounting of numbered datagrams at the receiver: in order, reordered, duplicate, late or lost.

mod counts;
mod jumps;
mod missing_runs;
mod tracker;
mod window;

pub use counts::{Arrival, RunningCounts};
pub use tracker::SequenceTracker;
pub use window::WINDOW;
