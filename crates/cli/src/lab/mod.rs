//! `caudal lab`: a test network on this machine.

mod args;
mod command;
mod file;
pub(crate) mod keep;

pub use args::{LabArgs, LabCommand};
pub use command::lab;
pub use file::schema;
