//! `caudal nttcp`: the command line and the rows of nttcp.

mod client;
mod command;
pub mod command_line;
mod failure;
mod help;
mod log;
pub mod printer;
mod server;

pub use command::main;
