//! The precision that the mean time of a cell is to reach.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The precision that the mean time of each cell is to reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferGoal {
    /// The maximum error: half the width of the interval as a fraction of the mean.
    pub error: f64,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// The runs of each cell that decided on their number, where that was not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilot_runs: Option<u32>,
    /// The maximum number of runs of each cell, where a pilot decided on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runs: Option<u32>,
}
