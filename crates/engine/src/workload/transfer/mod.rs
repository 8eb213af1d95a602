//! File transfers: one content from one end to the other, over the protocol of the plan.

mod client;
mod files;
mod mover;
mod mover_thread;
mod outcome;
mod server;
mod workload;

pub use outcome::TransferOutcome;
pub(crate) use workload::TransferWorkload;
