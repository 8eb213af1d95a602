//! `caudal rtt`: round-trip times by message size.

mod args;
mod assemble;
mod command;
mod plan;
mod warnings;

pub use args::{RttArgs, Sizes, sizes};
pub use command::rtt;
