//! What both ends of a path measure together, where a server of caudal runs at the other.

mod ends_run;
mod latency;
mod measure;
mod peer;
mod remaining;
mod request;
mod settings;
mod throughput;

pub(super) use ends_run::EndsRun;
pub(super) use measure::{measure, own_duplex};
pub(super) use peer::connect;
pub(super) use request::{EndsRequest, ThroughputRequest};
