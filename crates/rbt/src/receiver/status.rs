//! The state of a receiver as it reports it.

use crate::error::TransferError;

/// The state of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverStatus {
    /// Content is missing, or the sender has not said that it ended.
    Receiving,
    /// Everything has arrived; the caller compares the digest and says so with `set_verified`.
    Verifying,
    /// Verified; the answer is repeated while the sender may not have it.
    Lingering {
        /// Whether the digest was the sender's.
        matches: bool,
    },
    /// Verified, answered, and nothing is left to be done.
    Complete {
        /// Whether the digest was the sender's.
        matches: bool,
    },
    /// The session failed.
    Failed(TransferError),
}

/// What a receiver counted; all only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiverCounts {
    /// Data datagrams of this session that arrived whole, duplicates included.
    pub received: u64,
    /// Data datagrams whose block had arrived before.
    pub duplicates: u64,
    /// Datagrams whose checksum or form is wrong.
    pub damaged: u64,
    /// Datagrams of other sessions.
    pub foreign: u64,
    /// Blocks dropped because they were beyond the credit.
    pub beyond_credit: u64,
    /// Blocks dropped because they were not the next (go-back-n and stop-and-wait).
    pub out_of_order: u64,
    /// Data datagrams with a number below the highest: reordered on the way, or repeated by the network.
    pub reordered: u64,
    /// Bytes of the content received, each once.
    pub content_bytes: u64,
    /// Acknowledgement datagrams sent.
    pub acks_sent: u64,
    /// Data datagrams that arrived with Congestion Experienced.
    pub marked: u64,
}
