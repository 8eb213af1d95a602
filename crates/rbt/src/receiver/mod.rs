//! The receiving end.

mod arrivals;
mod receiver;
mod replies;
mod status;
#[cfg(test)]
mod tests;
mod window;

pub use receiver::BlockReceiver;
pub use status::{ReceiverCounts, ReceiverStatus};
