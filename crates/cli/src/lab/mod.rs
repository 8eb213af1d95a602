//! `caudal lab`: a test network on this machine.

mod args;
mod command;
mod drawing;
mod error;
mod file;
pub(crate) mod keep;
mod list;
mod print;
mod stats;
mod text;
mod tree;

pub use args::{LabArgs, LabCommand};
pub use command::lab;
pub use file::schema;
