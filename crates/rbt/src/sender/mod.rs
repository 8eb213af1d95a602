//! The sending end.

mod acks;
mod blocks;
mod loss;
#[allow(clippy::module_inception, reason = "the type's own file")]
mod sender;
mod sent;
mod status;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;

pub use sender::BlockSender;
pub use status::{SenderCounts, SenderStatus, Transmit};
