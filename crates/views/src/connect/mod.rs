//! A test of the connection rate as text: a row an interval, and the closing block.

mod closing;
mod csv;
mod rows;
mod view;

pub use closing::result_lines;
pub use csv::CSV_COLUMNS;

pub(crate) use view::ConnectView;
