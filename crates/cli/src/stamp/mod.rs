//! `caudal stamp`: a test with a reflector of STAMP or TWAMP-Light.

mod args;
mod command;
mod key_file;
mod plan;

pub use args::StampArgs;
pub use command::stamp;

pub(crate) use key_file::read_stamp_key;
