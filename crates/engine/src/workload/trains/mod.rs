//! Trains of datagrams in one direction, or in both at once, over one pair of UDP sockets.

mod client;
mod outcome;
mod receiver;
mod sender;
mod server;
mod signals;
mod threads;
mod wall_offset;
mod workload;

pub use outcome::TrainsOutcome;
pub(crate) use workload::TrainsWorkload;
