//! The sending end.

mod acks;
mod blocks;
mod loss;
mod sender;
mod sent;
mod status;
#[cfg(test)]
mod tests;
mod timers;
mod transmit;

pub use sender::BlockSender;
pub use status::{SenderCounts, SenderStatus, Transmit};
