//! The rate at which connections open: attempts, what they add up to, and what limited them.

mod attempt;
mod interval;
mod limit;
mod report;
mod times;

pub use attempt::{ConnectFailure, ConnectFailures};
pub use interval::ConnectInterval;
pub use limit::{ConnectLimit, ConnectLimitReport};
pub use report::{ConnectAccount, ConnectReport, ConnectServer};
pub use times::ConnectTimes;
