//! A flow of UDP datagrams.

use super::messages::{CapturedRtt, ResponseTimes};
use caudal_core::units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a capture shows of a flow of UDP datagrams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpAnalysis {
    /// What the client sent.
    pub to_server: UdpDirectionAnalysis,
    /// What the server sent.
    pub to_client: UdpDirectionAnalysis,
    /// Requests and responses taking turns; absent where the datagrams do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<ResponseTimes>,
}

/// What one end of a flow of datagrams sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UdpDirectionAnalysis {
    /// Datagrams, also those of a frame that holds several; one in several fragments counts once, when all of them were captured.
    pub datagrams: u64,
    /// Payload sizes; absent without datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<DatagramSizeRange>,
    /// The rate of the payload, from 20 datagrams on: that of n datagrams in n - 1 gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_rate_bps: Option<BitRate>,
    /// Times from one datagram to the next, several in a frame taken as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<CapturedRtt>,
    /// Datagrams that came in fragments.
    pub fragmented: u64,
    /// Fragmented datagrams of which a fragment is missing.
    pub incomplete: u64,
    /// Frames that hold several datagrams: UDP segmentation offload, or UDP GRO.
    pub super_packets: u64,
    /// Loss, reordering and jitter, where the payload carries numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<DatagramNumbers>,
}

/// The sizes of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatagramSizeRange {
    /// The smallest payload.
    pub min_bytes: ByteCount,
    /// The mean payload in bytes.
    pub mean_bytes: f64,
    /// The largest payload.
    pub max_bytes: ByteCount,
}

/// What the sequence numbers in the payload show: of datagrams between the sender and the point of capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatagramNumbers {
    /// Datagrams with a number.
    pub received: u64,
    /// Datagrams expected: from the lowest number to the highest.
    pub expected: u64,
    /// Numbers that never came.
    pub lost: u64,
    /// Datagrams with a number below the highest before them (RFC 4737 section 4), duplicates not counted.
    pub reordered: u64,
    /// Datagrams whose number had come before.
    pub duplicates: u64,
    /// Datagrams too old to be distinguished from duplicates; they count as reordered, so `lost` may be too low by as many.
    pub late: u64,
    /// The interarrival jitter of RFC 3550 section 6.4.1 at the end, µs; absent without the sender's times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_us: Option<f64>,
}
