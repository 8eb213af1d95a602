//! One flow captured at two points.

mod clock;
mod compare;
mod matching;
mod recorder;
mod time_span;

pub use compare::{EndsError, compare_ends};
pub use recorder::EndsRecorder;
