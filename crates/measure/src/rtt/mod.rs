//! Round-trip tests.

mod assemble;
mod conditions;
mod episodes;
mod request;
mod warnings;
mod window;

pub use request::{MeasuredRtt, RttRequest};
