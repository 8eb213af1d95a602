//! The rate of connections: attempts added up, and what limited them.

mod attempt;
mod find_limit;
mod tally;

pub use attempt::ConnectAttempt;
pub use find_limit::{ConnectConditions, ConnectEnds, find_limit};
pub use tally::{ConnectTally, TallyEnd};
