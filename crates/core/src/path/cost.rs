//! What probing took, and what it had to work with.

use crate::text::ExternalText;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The traffic and the time that probing took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbingCost {
    /// Packets sent, primers included.
    pub packets: u64,
    /// Bytes sent, IP headers included.
    pub bytes: ByteCount,
    /// Answers received.
    pub answers: u64,
    /// The time from the first packet to the last answer, s.
    pub elapsed_s: f64,
}

/// What this machine and this user's privileges offered for probing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbingMeans {
    /// `true` when departures and arrivals were timestamped by the kernel.
    pub kernel_timestamps: bool,
    /// `true` when primers were ICMP echo replies, which nobody answers (takes `CAP_NET_RAW`); else UDP datagrams.
    pub icmp_primers: bool,
    /// What was done without, each with what would provide it and what it would add.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<ExternalText>,
}
