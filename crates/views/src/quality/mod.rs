//! A test of latency under load as text: panels in a terminal, lines in a pipe, and the closing block.

mod applications;
mod closing;
mod csv;
mod panels;
mod progress;
mod rows;
mod view;

pub use closing::report_lines;
pub use csv::CSV_COLUMNS;
pub use view::QualityView;
