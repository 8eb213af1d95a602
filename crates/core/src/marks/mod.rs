//! Marks of the IP header, DSCP (RFC 2474) and ECN (RFC 3168): as they were sent, and as they arrived.

mod arrived;
mod change;
mod dscp;
mod ecn;

pub use arrived::{ArrivedMarks, DscpCount, EcnCounts, MarkCounter};
pub use change::{MarkChange, MarkReport};
pub use dscp::{Dscp, UnknownDscp};
pub use ecn::{Ecn, UnknownEcn};
