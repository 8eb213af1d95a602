//! Round-trip tests.

mod assemble;
mod conditions;
mod request;
mod warnings;
mod window;

pub use request::{MeasuredRtt, RttRequest};
