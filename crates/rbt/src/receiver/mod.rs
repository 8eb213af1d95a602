//! The receiving end.

mod arrivals;
#[allow(clippy::module_inception, reason = "the type's own file")]
mod receiver;
mod replies;
mod status;
#[cfg(test)]
mod tests;
mod window;

pub use receiver::BlockReceiver;
pub use status::{Ecn, ReceiverCounts, ReceiverStatus};
