//! The state of a sender as it reports it.

use crate::error::TransferError;

/// Datagrams that are ready to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// Bytes of all of them.
    pub bytes: usize,
    /// Bytes of each but the last, which may be shorter.
    pub segment: usize,
    /// Their number.
    pub datagrams: usize,
}

/// The state of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderStatus {
    /// Content is left to be sent or acknowledged.
    Sending,
    /// Every block is acknowledged; the receiver verifies the digest.
    AwaitingFinAck,
    /// The receiver has verified the content.
    Complete,
    /// The session failed.
    Failed(TransferError),
}

/// What a sender counted. All but the last group only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Data datagrams sent, repetitions included.
    pub sent: u64,
    /// Bytes of them, headers of RBT included.
    pub sent_bytes: u64,
    /// Data datagrams that repeated a block.
    pub retransmitted: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Packets declared lost that arrived after all.
    pub spurious: u64,
    /// Acknowledgement datagrams received.
    pub acks: u64,
    /// Probe timeouts.
    pub ptos: u64,
    /// Times persistent congestion was established.
    pub persistent: u64,
    /// Reactions to loss that were undone.
    pub undone: u64,
    /// Datagrams received that were damaged, foreign or no acknowledgement.
    pub ignored: u64,
    /// Control datagrams sent.
    pub control_sent: u64,
    /// Polls that found the congestion window full.
    pub blocked_by_window: u64,
    /// Polls that found the receiver's credit used up.
    pub blocked_by_credit: u64,
    /// Packets reported with Congestion Experienced.
    pub marked: u64,
    /// Packets that the receiver reports as received, duplicates included.
    pub peer_received: u64,
    /// Duplicates that the receiver reports.
    pub peer_duplicates: u64,
    /// Damaged datagrams that the receiver reports.
    pub peer_damaged: u64,
    /// Blocks that the receiver dropped because they were beyond its credit, or out of order.
    pub peer_dropped: u64,
    /// The minimum round-trip time, ns; 0 before there is one.
    pub min_rtt_ns: u64,
    /// The smoothed round-trip time, ns; 0 before there is one.
    pub smoothed_rtt_ns: u64,
    /// The congestion window, bytes.
    pub congestion_window: u64,
    /// Bytes in flight.
    pub in_flight: u64,
}
