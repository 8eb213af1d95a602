//! What both ends of a path measure together, where a server of caudal runs at the other.

mod ends_run;
mod measure;
mod remaining;
mod request;
mod settings;
mod throughput;

pub(super) use ends_run::EndsRun;
pub(super) use measure::{measure, own_duplex};
pub use request::{EndsRequest, WindowTestRequest};
