//! The probing of a path: the closing block, the table in a terminal while it is probed, and comma-separated values.

mod both_ends;
mod closing;
mod csv;
mod duplex;
mod facts;
mod headline;
mod hop_rows;
mod live_rows;
mod progress;
#[cfg(test)]
mod sample;
mod throughput;
mod view;

pub use csv::{DirectionRow, HopRow};
pub use view::PathView;
