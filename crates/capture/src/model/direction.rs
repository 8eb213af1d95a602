//! The packets of one direction of a flow, whatever its transport.

use caudal_core::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The packets of one direction of a flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapturedDirection {
    /// Frames as they were captured: a super-packet is one frame.
    pub frames: u64,
    /// Their bytes from the link header on, without check sequence, preamble and gap: original lengths, also of cut-off frames.
    pub bytes: ByteCount,
    /// Payload of TCP or UDP, repetitions included.
    pub payload_bytes: ByteCount,
    /// The largest frame in bytes.
    pub max_frame_bytes: u32,
    /// The lowest time to live, or hop limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_min: Option<u8>,
    /// The highest time to live, or hop limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_max: Option<u8>,
    /// IPv4 packets with Don't Fragment set; every packet of IPv6 counts.
    pub df_frames: u64,
    /// Frames that hold a fragment of an IP packet.
    pub fragments: u64,
    /// Frames by differentiated services code point, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<DscpFrames>,
    /// Frames by the ECN field of IP.
    pub ecn: EcnFrames,
    /// The first frame, numbered from 1 over all files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_frame: Option<u64>,
    /// Time between the first and the last frame, s.
    pub duration_s: f64,
}

/// Frames with one differentiated services code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DscpFrames {
    /// The code point, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// Frames.
    pub frames: u64,
}

/// Frames by the two bits of the ECN field (RFC 3168 section 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EcnFrames {
    /// Not-ECT, 00.
    pub not_ect: u64,
    /// ECT(1), 01.
    pub ect1: u64,
    /// ECT(0), 10.
    pub ect0: u64,
    /// Congestion Experienced, 11.
    pub ce: u64,
}
