//! The closing block of a throughput test, from its run: the result of each direction first, then what explains it. The result over
//! several runs comes last.

mod closing_lines;
mod csv;
mod detail;
mod headline;
mod round_trip;
mod view;
mod window;

pub use closing_lines::ClosingLine;
pub use csv::BulkRow;
pub use headline::DirectionHeadline;
pub use view::BulkView;
