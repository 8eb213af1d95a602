//! Round trips as people and programs read them.

mod closing;
mod confidence;
mod csv;
mod live_table;
mod outliers;
mod result;
mod samples;
mod size_table;
mod statistics_table;
#[cfg(test)]
mod tests;

pub use csv::{COLUMNS, csv_lines};
pub use live_table::{live_header, live_row};
pub use result::result_lines;
pub use samples::{RAW_COLUMNS, raw, series};
