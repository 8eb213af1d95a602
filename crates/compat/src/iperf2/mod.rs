//! `caudal iperf`: the command line and the output of iperf 2.

mod client;
mod command;
mod daemon;
mod failure;
mod help;
pub mod options;
mod output;
pub mod printer;
mod record;
mod request;
mod server;
mod session_events;
pub mod units;

pub use command::main;
pub use options::{absent_options, long_names};
