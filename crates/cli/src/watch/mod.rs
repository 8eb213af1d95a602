//! `caudal watch`: measurements repeated on a schedule, recorded, exported and compared with those before.

mod alert;
mod args;
mod budget;
mod command;
mod hook;
mod log;
mod measurement;
mod quiet_hours;
mod reading;
mod schedule;
mod watch_file;
mod watched;

pub use args::WatchArgs;
pub use command::watch;
