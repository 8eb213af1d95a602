//! A test with STAMP as text: a row an interval, and what became of the packets in each direction.

mod closing;
mod csv;
mod view;

pub use csv::CSV_COLUMNS;

pub(crate) use view::StampView;
