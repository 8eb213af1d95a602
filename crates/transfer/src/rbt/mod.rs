//! RBT over a connected UDP socket: the protocol's state machines on the kernel's clock and sockets.

mod account;
mod budget;
mod drive;
mod handshake;
mod mover;
mod receiving;
mod sending;
mod terms;
mod transmitter;

pub(crate) use mover::{receive_rbt, send_rbt};
pub(crate) use terms::RbtTerms;
