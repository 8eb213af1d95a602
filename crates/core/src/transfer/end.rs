//! What one end of a transfer counted.

use super::refused::RefusedFiles;
use crate::readings::SenderReadings;
use crate::sample::TcpSnapshot;
use crate::tcp_trace::TcpTrace;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one end of a transfer counted. Times are ns after the first byte that this end sent or received for the transfer's own
/// handshake (SYN, HELLO, Initial).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TransferEnd {
    /// File bytes sent for the first time, or received once.
    pub bytes: u64,
    /// Datagrams with file bytes that were sent or received (RBT, QUIC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Datagrams or segments that were sent again (sender).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<u64>,
    /// Datagrams that the sender declared lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Of these, those that were acknowledged after all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spurious: Option<u64>,
    /// Datagrams whose content had arrived before (receiver).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<u64>,
    /// Datagrams that arrived marked with Congestion Experienced (RBT); at the sender those that acknowledgements told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<u64>,
    /// Datagrams with a wrong checksum (receiver).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<u64>,
    /// Datagrams that the kernel dropped because the socket's buffer was full (receiver).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// Acknowledgements sent or received (RBT).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledgements: Option<u64>,
    /// Probe timeouts (sender, RBT) or retransmission timeouts (sender, TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
    /// System calls for sending or receiving.
    pub calls: u64,
    /// The largest number of datagrams in one of these calls (RBT).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_datagrams_per_call: Option<u32>,
    /// The minimum round-trip time, ns (sender).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt_ns: Option<u64>,
    /// The end of the handshake.
    pub handshake_ns: u64,
    /// The first file byte.
    pub first_byte_ns: u64,
    /// The last file byte sent or received.
    pub last_byte_ns: u64,
    /// All bytes handed to the file (receiver).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_ns: Option<u64>,
    /// All bytes on the disk (receiver, where asked for).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synced_ns: Option<u64>,
    /// The digest computed and compared (receiver).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_ns: Option<u64>,
    /// The time from the arrival of the last byte until everything was written, where the receiver's answer does not wait for it
    /// (receiver, RBT), ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_after_answer_ns: Option<u64>,
    /// The receiver's answer that all was written, over RBT that all arrived (sender): the end of the transfer, before the digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_ns: Option<u64>,
    /// CPU time of the thread that carries the data, and of writing it, ns.
    pub cpu_ns: u64,
    /// The BLAKE3 digest of the whole content, hexadecimal; `None` when the transfer did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The way datagrams were handed to the kernel, at the end (RBT): `plain`, `mmsg` or `gso`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<ExternalText>,
    /// The congestion control in use (sender).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<ExternalText>,
    /// The kernel's last state of the connection (sender, TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSnapshot>,
    /// The states in which the connection was found (sender, TCP and TLS). Documents do not carry them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub readings: Option<SenderReadings>,
    /// The course of the connection (sender, TCP and TLS). Documents do not carry it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub trace: Option<TcpTrace>,
    /// The files of an archive that were not stored (receiver).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedFiles>,
    /// `true` when the file became larger while it was sent: what it had at the start was sent (sender).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_grown: bool,
    /// Whatever this end did otherwise than asked, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ExternalText>,
    /// The reason why the transfer did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<ExternalText>,
}

/// The progress of a transfer under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferProgress {
    /// The reading's time, ns after the start.
    pub at_ns: u64,
    /// File bytes that have arrived, or been acknowledged.
    pub bytes: u64,
    /// The size of the file, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
}
