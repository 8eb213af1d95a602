//! Captured frames against segments on the wire.

use caudal_core::text::ExternalText;
use caudal_core::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The segments that crossed the wire, derived from the frames that were captured.
///
/// A capture on a host sees what the kernel hands to the device (TSO and GSO split it later) and what GRO has joined: frames
/// larger than the wire carries. They are split again here by the segment size.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentationAnalysis {
    /// Frames that hold more than one segment.
    pub super_packets: u64,
    /// The largest frame in bytes, as captured.
    pub max_frame_bytes: u32,
    /// The most frequent size of a frame with payload in bytes, as captured; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_frame_bytes: Option<u32>,
    /// The payload of a full segment in bytes; absent where nothing shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u32>,
    /// What `segment_bytes` was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_source: Option<SegmentSizeSource>,
    /// Segments with payload on the wire.
    pub wire_segments: u64,
    /// Frames on the wire, those without payload included.
    pub wire_frames: u64,
    /// Bytes on an Ethernet wire: payload and for each frame headers, check sequence, preamble and gap (14 + 4 + 20 + IP + TCP),
    /// at least 84.
    pub wire_bytes: ByteCount,
    /// Headers, check sequences, preambles and gaps among them.
    pub header_bytes: ByteCount,
    /// Payload ÷ bytes on the wire, all frames of this direction; absent without payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
    /// The same for full segments only: what a bulk transfer of this segment size reaches at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_efficiency: Option<f64>,
    /// What joined the segments of super-packets; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offload: Option<Offload>,
    /// What that was concluded from, or why it cannot be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offload_reason: Option<ExternalText>,
}

/// What a segment size was taken from, the most trustworthy first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SegmentSizeSource {
    /// The capture holds the kernel's own `gso_size`.
    Gso,
    /// The MSS of the SYNs less the options of each segment.
    Handshake,
    /// The largest payload of frames that are not super-packets, of which super-packets hold multiples.
    Observed,
    /// An MTU of 1500 is assumed.
    Assumed,
}

/// What made frames larger than the wire carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Offload {
    /// The sending host captured before TSO or GSO split them.
    SenderSegmentation,
    /// The receiving host captured after GRO or LRO joined them.
    ReceiverCoalescing,
    /// The capture does not show it.
    CannotTell,
}
