//! `caudal file`: file transfer over TCP, reliable UDP and QUIC, compared.

mod args;
mod assemble;
mod block_order;
mod campaign;
mod cells;
mod command;
mod congestion;
mod contents;
mod destination;
mod file_content;
mod file_name;
mod file_runner;
mod headline;
mod local_files;
mod measured;
#[cfg(test)]
mod parsed;
mod plan;
mod prepared_contents;
mod progress;
mod protocols;
mod remote_file;
mod run_count;
mod time_left;
mod transfer_run;
mod usage_checks;
mod values;
mod warnings;

pub use args::FileArgs;
pub use command::file;
