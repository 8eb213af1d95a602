//! `caudal connect`: the rate at which connections open.

mod args;
mod command;
mod plan;

pub use args::ConnectArgs;
pub use command::connect;
