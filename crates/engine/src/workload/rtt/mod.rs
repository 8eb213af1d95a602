//! Round-trip tests: messages that the server sends back whole.

mod client;
mod live_rows;
mod outcome;
mod server;
mod workload;

pub use outcome::{RttConnection, RttOutcome};
pub(crate) use workload::RttWorkload;
