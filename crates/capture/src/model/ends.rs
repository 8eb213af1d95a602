//! One flow captured at both of its ends.

use super::flow::CapturedEnd;
use super::messages::CapturedRtt;
use caudal_core::text::ExternalText;
use caudal_core::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What two captures of one flow show together: what the path between them lost, delayed and changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndsComparison {
    /// The client of the flow, as the first capture has it.
    pub client: CapturedEnd,
    /// The server, as the first capture has it.
    pub server: CapturedEnd,
    /// From the first point of capture to the second.
    pub there: EndsDirection,
    /// From the second to the first.
    pub back: EndsDirection,
    /// The clocks.
    pub clock: ClockBetweenEnds,
    /// What the way between changed.
    pub changes: Vec<MiddleChange>,
}

/// One way between two points of capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndsDirection {
    /// Segments or datagrams that passed the point they leave from, super-packets split.
    pub sent: u64,
    /// Those of them that passed the other point.
    pub arrived: u64,
    /// Payload that left and did not arrive.
    pub lost_bytes: ByteCount,
    /// Segments or datagrams that left and did not arrive, while both captures were running: the other one holds frames before and after, of any flow.
    pub lost: u64,
    /// Copies of packets that arrived: made on the way, or frames that the capture where they arrive holds twice.
    #[serde(default)]
    pub duplicated: u64,
    /// Those that arrived and were not seen leaving: a capture is incomplete, or something between sent them.
    pub unsent: u64,
    /// Packets behind the first 1 048 576 of this way, of the capture that holds more of them: they were not compared, and are in no other
    /// count.
    #[serde(default)]
    pub not_compared: u64,
    /// One-way delay with the clocks' offset removed; absent where the offset cannot be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<CapturedRtt>,
}

/// The clock of the second capture against that of the first.
///
/// A straight line below the delays of each direction gives the offset up to half the difference of the two shortest delays: it is exact
/// when the shortest ways there and back take the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockBetweenEnds {
    /// How much the second clock is ahead of the first at the beginning, µs; absent when one direction carried nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_us: Option<f64>,
    /// How much more it is ahead after each second, in millionths; absent where the time is too short for an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_ppm: Option<f64>,
    /// The shortest round trip between the two points, µs: the offset is wrong by at most half of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<f64>,
    /// Why the offset cannot be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_tell: Option<ExternalText>,
}

/// Something that differs between two captures of the same packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MiddleChange {
    /// What differs.
    pub kind: MiddleChangeKind,
    /// `true` for packets of the client.
    pub of_client: bool,
    /// Its value where the packets leave.
    pub sent: ExternalText,
    /// Its value where they arrive.
    pub arrived: ExternalText,
}

/// What can differ between two captures of the same packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MiddleChangeKind {
    /// The MSS of the SYN.
    Mss,
    /// Other options of the SYN.
    Options,
    /// The time to live, or hop limit.
    Ttl,
    /// The differentiated services code point.
    Dscp,
    /// The ECN field.
    Ecn,
    /// The sizes of frames: offloads differ, or something between joins or splits segments.
    Segmentation,
    /// Addresses or ports: there is translation between.
    Addresses,
    /// Sequence numbers.
    SequenceNumbers,
}
