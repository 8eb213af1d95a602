//! The bottleneck of a flow and the evidence for it.
//!
//! What is found comes with the evidence that decided; where several things apply, the first in the order of `find_tcp` and
//! `find_udp` is named. For TCP the kernel accounts for the time its sender was busy and for the parts of it limited by the receiver's window and
//! by the send buffer (`tcp_info`); for the applications at both ends the processor time of their threads shows whether they
//! could have done more. Readings of both ends' queues and windows between the samples tell a small send buffer
//! from a full network, and an application that does not read from a small window.

mod course;
mod evidence;
mod find;
mod full_window;
mod loss_pattern;
mod network;
mod processor;
mod rate_line;
mod receiver;
mod retransmissions;
mod round_trip;
mod tcp;
#[cfg(test)]
mod tests;
mod time_shares;
mod transfer;
mod udp;

pub(crate) use evidence::FULL;
pub use evidence::{Evidence, REACHED};
pub use find::find;
pub use processor::CPU_BOUND;
pub use transfer::find_of_transfer;
pub use udp::{at_share_of_link, find_by_loss, find_by_refusals, offered_bps};
