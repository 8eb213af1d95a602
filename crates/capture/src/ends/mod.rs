//! One flow captured at two points.

mod clock;
mod compare;
mod matching;
mod recorder;

pub use compare::{EndsError, compare_ends};
pub use recorder::EndsRecorder;
