//! The rate at which connections open: one after another or several at once, each with a request and its answer.

mod attempt;
mod client;
mod openers;
mod opening_run;
mod outcome;
mod port;
mod server;
mod workload;

pub use outcome::ConnectOutcome;
pub use port::connect_to_port;

pub(super) use workload::ConnectWorkload;
