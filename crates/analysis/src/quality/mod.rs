//! Latency under load: what the probes and the load of a phase add up to, and the advice that follows.

mod added;
mod advice;
mod by_protocol;
mod clock_track;
mod fill;
mod one_way;
mod phase;
mod probe;
mod report;
mod responsiveness;
mod verdicts;

pub use clock_track::ClockTrack;
pub use phase::{PhaseMeasurements, SmoothedRtt};
pub use report::quality_report;
pub use responsiveness::{MOVING_AVERAGE_DISTANCE, ProbeTimes, trimmed_mean};
