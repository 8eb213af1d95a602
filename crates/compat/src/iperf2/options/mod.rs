//! The options of iperf 2 and its command line.

mod command_line;
mod histogram;
mod options;
mod table;
mod values;

pub use histogram::{BinUnit, HistogramOptions};
pub use options::Options;
pub use table::{absent_options, long_names};
