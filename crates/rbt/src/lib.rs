//! Reliable block transfer over datagrams: RBT, as spec/rbt.md defines it.
//!
//! A sender and a receiver as state machines: datagrams in, datagrams out, told the time in nanoseconds of any monotonic clock.
//! Pure: no clock, socket, file or thread.
#![forbid(unsafe_code)]

mod bit_ring;
mod config;
pub mod congestion;
mod error;
mod handshake;
mod range_set;
mod receiver;
mod sender;
mod source;
mod wire;

pub use config::{
    Arq, DATA_HEADER_BYTES, MAX_BLOCKS, MAX_CONTENT_BYTES, MAX_FIRST_PN, MAX_PAYLOAD_BYTES,
    MAX_WINDOW_BLOCKS, MAX_WINDOW_BYTES, SocketBudget, TransferConfig,
};
pub use congestion::{RbtCongestion, UnknownCongestionControl};
pub use error::{AbortCode, TransferError};
pub use handshake::{
    AcceptedSession, Grant, Initiator, InitiatorStatus, Proposal, Responder, Response,
};
pub use receiver::{BlockReceiver, ReceiverCounts, ReceiverStatus};
pub use sender::{BlockSender, SenderCounts, SenderStatus, Transmit};
pub use source::{BlockSource, MemoryContent};
pub use wire::VERSION;
