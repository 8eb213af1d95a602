//! The sequence diagram of one flow.

use super::flow::CapturedEnd;
use caudal_core::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The frames of one flow in their order, for a sequence diagram: the client left, the server right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ladder {
    /// The number of the flow.
    pub flow: u64,
    /// The left line.
    pub client: CapturedEnd,
    /// The right line.
    pub server: CapturedEnd,
    /// The frames.
    pub steps: Vec<LadderStep>,
    /// Frames of the flow after the last step.
    pub left_out: u64,
}

/// One frame of a sequence diagram.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LadderStep {
    /// The number of the frame, from 1 over all files.
    pub frame: u64,
    /// Time after the first frame of the flow, s.
    pub time_s: f64,
    /// The way it went.
    pub direction: FrameDirection,
    /// The flags in the order of Wireshark, such as `PSH, ACK`; empty for UDP.
    pub flags: String,
    /// The sequence number relative to the first of this end, for TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// The acknowledgement number relative to the first of the other end, with ACK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack: Option<i64>,
    /// Payload in bytes.
    pub payload_bytes: u64,
    /// The window in bytes, scaled where the scale is known, for TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u64>,
    /// Bytes of the frame from the link header on.
    pub frame_bytes: u32,
    /// Segments on the wire that the frame stands for: above 1 for a super-packet.
    pub wire_segments: u32,
    /// What is notable about it, such as `fast retransmission`; mostly empty.
    #[serde(default, skip_serializing_if = "ExternalText::is_empty")]
    pub label: ExternalText,
}

/// The way a frame of a flow went.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FrameDirection {
    /// From client to server.
    ToServer,
    /// From server to client.
    ToClient,
}

impl FrameDirection {
    /// The other way.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }
}
