//! Round trips far beyond the others, and where they waited by what the kernel knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The place at which most of a long round trip was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitPlace {
    /// The message left long after it was due: this host was late.
    Schedule,
    /// The reply had arrived, and waited at this host's socket for the program.
    OwnSocket,
    /// A segment of the message was retransmitted.
    Retransmission,
    /// This host's kernel sent the last of the message late, and for the first time.
    OwnSendQueue,
    /// Before the reply arrived: the network or the server; over UDP, or on a schedule, perhaps this host before the message left.
    BeforeArrival,
    /// The kernel's times do not tell.
    Unknown,
}

/// A round trip beyond ten times the 99th percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTripOutlier {
    /// The client's number, from 0.
    pub client: u32,
    /// The number of the message in the client's series of this size; 0 for the first, which counts apart.
    pub message: u64,
    /// The round-trip time, µs.
    pub rtt_us: f64,
    /// Where most of it was spent.
    pub waited_at: WaitPlace,
    /// The time between the arrival of the reply and its reading, µs; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread_us: Option<f64>,
    /// The time after which this host's kernel last sent data of the message, µs; TCP without a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sent_us: Option<f64>,
    /// Segments retransmitted since the kernel was asked before; TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u32>,
    /// The delay of the message behind its schedule, µs; on a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_us: Option<f64>,
    /// The maximum error of `unread_us` and `last_sent_us`, µs.
    pub error_us: f64,
}

/// The round trips beyond ten times the 99th percentile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTripOutliers {
    /// Ten times the 99th percentile, µs.
    pub limit_us: f64,
    /// Round trips beyond it.
    pub n: u64,
    /// The longest of them, at most 16, the longest first.
    pub longest: Vec<RoundTripOutlier>,
}
