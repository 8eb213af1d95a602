//! The options of iperf3 and its command line.

mod command_line;
mod draft;
mod error;
mod group;
mod settings;
mod table;
mod values;

pub use command_line::{CommandLine, USAGE, parse};
pub use error::CommandLineError;
pub use settings::{Iperf3End, Iperf3Settings, OutputSettings, ServiceSettings, TestSettings};
pub use table::{Iperf3OptionNames, absent_options, option_names};
