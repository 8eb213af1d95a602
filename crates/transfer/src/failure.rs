//! Why a transfer did not complete.

use caudal_core::plan::FileProtocol;
use caudal_rbt::{AbortCode, TransferError};
use std::io;

/// Why a transfer did not complete.
#[derive(Debug, thiserror::Error)]
pub enum TransferFailure {
    /// RBT says so.
    #[error(transparent)]
    Rbt(TransferError),
    /// A datagram is larger than the path carries.
    #[error(
        "a packet of {packet_bytes} bytes does not fit the path, whose MTU is {mtu}: use smaller packets"
    )]
    TooLarge {
        /// File bytes in a datagram.
        packet_bytes: u32,
        /// The MTU of the path.
        mtu: u32,
    },
    /// The path carries no packets as large as the protocol needs.
    #[error(
        "QUIC needs packets of {min} bytes, and the MTU of the path is {mtu}: use another protocol"
    )]
    PathTooNarrow {
        /// The least that it does with, bytes with the IP header.
        min: u32,
        /// The MTU of the path.
        mtu: u32,
    },
    /// The peer is gone.
    #[error("the peer has closed its port")]
    PeerClosed,
    /// It was to end early.
    #[error("the transfer was stopped")]
    Stopped,
    /// No mover here knows the protocol.
    #[error("this version carries no files over {0}")]
    Unavailable(FileProtocol),
    /// The content could not be read or stored, as text for the user.
    #[error("{0}")]
    Storage(String),
    /// The receiver's digest is not the sender's.
    #[error("the digest of what arrived is not the sender's: what was received was thrown away")]
    DigestMismatch,
    /// The connection broke, or the peer broke the rules of the protocol, as text for the user.
    #[error("{0}")]
    Connection(String),
    /// The kernel refused something else.
    #[error("the kernel refused to {doing}: {cause}{}", remedy(cause))]
    Kernel {
        /// What it refused.
        doing: &'static str,
        /// Why.
        cause: io::Error,
    },
}

/// What helps against an error of the kernel, as the rest of a sentence.
fn remedy(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EMFILE) => ": raise the limit of this process (ulimit -n)",
        _ => "",
    }
}

impl From<TransferError> for TransferFailure {
    /// What every protocol has is said in the same words.
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Aborted(AbortCode::Stopped) => Self::Stopped,
            TransferError::DigestMismatch => Self::DigestMismatch,
            error => Self::Rbt(error),
        }
    }
}

impl TransferFailure {
    /// `true` when it is what an end sees of a transfer that the other end has broken off.
    pub const fn is_of_connection(&self) -> bool {
        matches!(self, Self::Connection(_) | Self::PeerClosed | Self::Rbt(_))
    }
}
