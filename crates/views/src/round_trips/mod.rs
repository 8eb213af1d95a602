//! Round trips as people and programs read them.

mod closing;
mod csv;
mod live_table;
mod outliers;
mod result;
mod samples;
mod size_table;
mod statistics_table;
#[cfg(test)]
mod tests;
mod view;

pub use csv::ReplyRow;
pub use samples::{SampleRow, raw};
pub use view::RttView;

pub(crate) use closing::times_line;
pub(crate) use view::LiveRoundTrips;
