//! A phase of a test of latency under load: a bulk transfer over TCP, an echo over UDP and one over TCP beside it, and requests
//! on new connections. Each is the workload that it is by itself; here they share a test.

mod client;
mod connect_prober;
mod outcome;
mod parts;
mod queue_meter;
mod server;
mod workload;

pub use outcome::QualityOutcome;
pub(crate) use workload::QualityWorkload;
