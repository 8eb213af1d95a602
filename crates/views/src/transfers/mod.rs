//! File transfers as text and as comma-separated values.

mod cell_table;
mod closing;
mod cost_tables;
mod csv;
mod ratios;
#[cfg(test)]
mod sample;
mod single;
mod view;

pub use csv::TransferRow;
pub use single::headline;
pub use view::FileView;
