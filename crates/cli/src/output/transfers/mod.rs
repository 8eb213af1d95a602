//! File transfers as text and as comma-separated values.

mod cell_table;
mod closing;
mod cost_tables;
mod csv;
mod groups;
mod ratios;
#[cfg(test)]
mod sample;
mod single;

pub use closing::result_lines;
pub use csv::{COLUMNS, csv_lines};
pub use single::headline;
