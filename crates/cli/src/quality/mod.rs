//! `caudal quality`: latency under load in one command.

mod args;
mod command;

pub use args::QualityArgs;
pub use command::quality;
