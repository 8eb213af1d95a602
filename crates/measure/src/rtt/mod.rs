//! Round-trip tests.

mod assemble;
mod conditions;
mod episodes;
mod marks;
mod request;
mod warnings;
mod window;

pub(crate) use marks::marks;
pub use request::{MeasuredRtt, RttRequest};
