//! Flows in progress: both sides of each and their counters.

mod active;
mod connection_pair;
mod exchange;
mod outgoing;
mod tcp_echo;
mod tcp_transfer;
mod udp_echo;
mod udp_stream;

pub(crate) use active::ActiveFlow;
pub(crate) use outgoing::OutgoingPacket;
