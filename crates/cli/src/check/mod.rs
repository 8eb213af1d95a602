//! `caudal check`.

mod args;
mod command;

pub use args::PathCheckArgs;
pub use command::check;
