//! `caudal rtt`: round-trip times by message size.

mod args;
mod command;
mod plan;

pub use args::RttArgs;
pub use command::rtt;
