//! `caudal rtt`: round-trip times by message size.

mod args;
mod command;
mod plan;
mod sample_series;

pub use args::RttArgs;
pub use command::rtt;
