//! The summary of a bulk transfer, as documents carry it.

mod direction;
mod other_traffic;

pub(crate) use direction::estimate_or_number;
pub use direction::{Ceiling, DirectionSummary, RateLevel, TcpEcn, TcpSummary};
pub use other_traffic::{HostEnd, OtherTraffic};
