//! `caudal file`: file transfer over TCP, reliable UDP and QUIC, compared.

mod archives;
mod args;
mod cells;
mod command;
mod congestion;
mod contents;
mod destination;
mod file_views;
mod headline;
mod local_files;
mod not_sent;
#[cfg(test)]
mod parsed;
mod plan;
mod progress;
mod remote_file;
mod run_count;
mod time_left;
mod usage_checks;
mod values;

pub use args::FileArgs;
pub use command::file;
