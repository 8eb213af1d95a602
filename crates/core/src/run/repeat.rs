//! The runs of one command, where it made several.

use crate::loss::Loss;
use crate::plan::Direction;
use crate::summary::{DirectionSummary, estimate_or_number};
use crate::text::ExternalText;
use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Repeat {
    /// Its number, from 1.
    pub run: u32,
    /// When traffic began, s since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_s: Option<f64>,
    /// The reason why it ended early; null when it did not.
    #[serde(default)]
    pub cut_short: Option<ExternalText>,
    /// Each direction.
    pub directions: Vec<RepeatDirection>,
}

/// One direction of one run of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatDirection {
    /// The direction.
    pub direction: Direction,
    /// Payload that arrived per second, bit/s.
    #[serde(default, deserialize_with = "estimate_or_number")]
    pub goodput_bps: Option<Estimate>,
    /// Whether its interval rests on enough values; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_trusted: Option<bool>,
    /// Payload that arrived in the measured part, bytes.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// The length of the measured part, s.
    pub measured_s: f64,
    /// The account of datagrams (UDP); null over TCP.
    #[serde(default)]
    pub loss: Option<Loss>,
}

impl From<&DirectionSummary> for RepeatDirection {
    fn from(summary: &DirectionSummary) -> Self {
        Self {
            direction: summary.direction,
            goodput_bps: summary.goodput_bps,
            goodput_trusted: summary.goodput_trusted,
            bytes: summary.bytes,
            measured_s: summary.measured_s,
            loss: summary.loss.clone(),
        }
    }
}

/// One direction over all runs that were not cut short.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionRepeats {
    /// The direction.
    pub direction: Direction,
    /// The mean goodput over the runs, bit/s; null when no run was completed.
    pub goodput_bps: Option<Estimate>,
}
