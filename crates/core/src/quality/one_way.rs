//! The delay of UDP probes in each direction.

use crate::plan::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The delay of UDP probes in one direction over the measured part of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneWayReport {
    /// The direction.
    pub direction: Direction,
    /// The median, µs; absent where the clocks do not allow to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// The 95th percentile, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<f64>,
    /// The 99th percentile, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// The maximum, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_us: Option<f64>,
    /// The maximum error of all of them, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_us: Option<f64>,
    /// The reason why they cannot be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_tell: Option<String>,
}
