//! Tests with STAMP: the losses, duplicates and reordering in each direction, and the offset of the clocks.

mod clocks;
mod ways;

pub use clocks::{StampExchange, StampOffset, clock_offset};
pub use ways::{ReplyNumbers, SessionCounts, ways};
