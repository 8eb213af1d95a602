//! The summary of a bulk transfer, as documents carry it.

mod direction;

pub(crate) use direction::estimate_or_number;
pub use direction::{Ceiling, DirectionSummary, RateLevel, TcpSummary};
