//! What the two ends of a path measured together.

use super::cost::ProbingCost;
use super::direction::PathDirection;
use super::throughput::PathThroughput;
use crate::echo::ReplySummary;
use crate::plan::Direction;
use crate::text::ExternalText;
use crate::window::{BaselineRtt, BaselineSource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the two ends of a path measured together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathBetweenEnds {
    /// The other end: address and port of its server.
    pub peer: ExternalText,
    /// Round trips without load, by UDP messages at random times, with the delay variation each way; absent where none came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<ReplySummary>,
    /// Each direction, up first.
    pub directions: Vec<PathDirection>,
    /// The throughput of TCP by window (RFC 6349); absent where it was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<PathThroughput>,
    /// What it took, both ways together.
    pub cost: ProbingCost,
    /// The reason why it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}

impl PathBetweenEnds {
    /// One of the directions.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> Option<&PathDirection> {
        self.directions
            .iter()
            .find(|one| one.direction == direction)
    }

    /// The baseline round-trip time: the minimum without load.
    #[must_use]
    pub fn baseline_rtt(&self) -> Option<BaselineRtt> {
        let rtt = self.baseline.as_ref()?.rtt_us?;
        BaselineRtt::lowest(&[(BaselineSource::Messages, Some(rtt.min))])
    }
}
