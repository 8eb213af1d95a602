//! `caudal quality`: latency under load in one command.

mod args;
mod assemble;
mod command;
mod headline;
mod live_intervals;
mod measured;
mod phase_run;
mod plan;
mod warnings;

pub use args::QualityArgs;
pub use command::{measure_quality, quality};
