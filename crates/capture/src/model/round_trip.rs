//! The distribution of times between a frame and what answers it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times between frames and their answers. Minimum, mean and maximum are exact, percentiles within 1.6 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapturedRtt {
    /// The number of times.
    pub n: u64,
    /// The shortest, µs.
    pub min_us: f64,
    /// The mean, µs.
    pub mean_us: f64,
    /// The longest, µs.
    pub max_us: f64,
    /// The median, µs; absent with fewer than 3 times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// The 95th percentile, µs; absent with fewer than 20 times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<f64>,
    /// The 99th percentile, µs; absent with fewer than 100 times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
}
