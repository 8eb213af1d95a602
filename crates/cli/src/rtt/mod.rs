//! `caudal rtt`: round-trip times by message size.

mod args;
mod assemble;
mod command;
mod measured;
mod plan;
mod warnings;
mod window;

pub use args::RttArgs;
pub use command::rtt;
