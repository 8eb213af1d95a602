//! What one transfer adds up to, from the accounts of both ends.

use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the time of a transfer went, ns. Each part is a difference on the clock of one end, so the clocks of both need not agree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferTimes {
    /// The handshake of the transfer's own connection, by the sender; where its clock begins behind it (a download over TCP), by the receiver.
    pub handshake_ns: u64,
    /// From the first file byte that arrived to the last (receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_ns: Option<u64>,
    /// From there until everything was handed to the file (receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_ns: Option<u64>,
    /// From there until everything was on the disk, where that was asked for (receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_ns: Option<u64>,
    /// From there until the digest was computed and compared (receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_ns: Option<u64>,
}

impl TransferTimes {
    /// The parts that are known, in their order, each with its time, s.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let parts = [
            ("handshake", Some(self.handshake_ns)),
            ("transfer", self.transfer_ns),
            ("write", self.write_ns),
            ("fsync", self.sync_ns),
            ("verify", self.verify_ns),
        ];
        let known = parts.into_iter();
        known.filter_map(|(name, ns)| Some((name, ns? as f64 / 1e9)))
    }
}

/// What one transfer adds up to. Counts that the protocol does not have, or that the other end did not report, are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferSummary {
    /// File bytes that this transfer moved, without those that an earlier one had left.
    pub bytes: u64,
    /// File bytes that an earlier transfer had left.
    #[serde(default)]
    pub resumed_bytes: u64,
    /// The result: the time from the first packet of the handshake to the receiver's answer that everything was written, by the sender's
    /// clock; absent of a transfer that did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// File bytes per second of that time, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Where the time went.
    pub times: TransferTimes,
    /// Datagrams with file bytes that were sent, repeated ones included (RBT, QUIC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Datagrams or segments that were sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<u64>,
    /// Datagrams that the sender took for lost and that did not arrive after all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// These as a fraction of the datagrams sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Datagrams that the receiver's kernel dropped because the socket's buffer was full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// CPU time of the sender's thread for each file byte, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_cpu_ns_per_byte: Option<f64>,
    /// CPU time of the receiver's thread for each file byte, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu_ns_per_byte: Option<f64>,
    /// `true` when the receiver's BLAKE3 digest of the whole content is the sender's.
    pub verified: bool,
    /// The reason why the transfer did not complete; such a transfer is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ExternalText>,
}

impl TransferSummary {
    /// The time of the transfer, s; `None` of one that is no result.
    #[must_use]
    pub fn time_s(&self) -> Option<f64> {
        let ns = self.time_ns.filter(|_| self.verified)?;
        Some(ns as f64 / 1e9)
    }
}
