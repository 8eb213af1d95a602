//! `caudal iperf3`: the options and the output of iperf3 over the engine, as client and as server.

mod about;
mod client;
mod client_view;
mod command;
mod error;
mod figures;
mod json;
mod json_object;
pub mod login;
mod options;
mod printer;
mod report;
mod server;
mod server_view;
mod text;
mod transferred_file;
mod units;
mod used_logins;

pub use command::main;
pub use options::{Iperf3OptionNames, absent_options, option_names};
pub use server_view::transcripts;
