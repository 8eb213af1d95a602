//! What became of the packets in each direction.

use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The numbers with which a reflector sends packets back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReflectorNumbering {
    /// Its own: it keeps state, and a gap in them is a loss on the way back.
    Own,
    /// Those of the packets: it keeps no state, or lost none on the way to it.
    OfSender,
}

/// The packets in one direction; each count is absent where it cannot be told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StampWay {
    /// Packets that entered this direction: those sent, or those the reflector sent back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Of these, packets that did not arrive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// The fraction lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Estimate>,
    /// Packets that arrived more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<u64>,
    /// Packets that arrived after one that was sent later (RFC 4737).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
}

/// Both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StampWays {
    /// The numbers of the replies; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbering: Option<ReflectorNumbering>,
    /// From the sender to the reflector.
    pub up: StampWay,
    /// From the reflector to the sender.
    pub down: StampWay,
    /// Packets lost of which the direction cannot be told: after the last reply, or all of them without a reflector's own numbers and
    /// counts.
    pub undecided: u64,
}
