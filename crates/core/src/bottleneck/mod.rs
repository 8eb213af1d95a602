//! The bottleneck of a flow or a direction, as documents carry it.

mod limit;

pub use limit::{Bottleneck, Cause, LimitedBy};
