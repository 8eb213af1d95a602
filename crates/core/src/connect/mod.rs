//! The rate at which connections open: attempts, what they add up to, and what limited them.

mod attempt;
mod find_limit;
mod interval;
mod limit;
mod report;
mod tally;
mod times;

pub use attempt::{ConnectAttempt, ConnectFailure, ConnectFailures};
pub use find_limit::{ConnectConditions, ConnectEnds, find_limit};
pub use interval::ConnectInterval;
pub use limit::{ConnectLimit, ConnectLimitReport};
pub use report::{ConnectAccount, ConnectReport, ConnectServer};
pub use tally::{ConnectTally, TallyEnd};
pub use times::ConnectTimes;
