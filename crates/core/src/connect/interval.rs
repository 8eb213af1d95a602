//! One interval of a test of the connection rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The connections that were completed, or failed, within one interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectInterval {
    /// Its beginning, s after the start of the test.
    pub start_s: f64,
    /// Its end, s.
    pub end_s: f64,
    /// Connections completed.
    pub completed: u64,
    /// Connections that failed.
    pub failed: u64,
    /// Completed connections per second.
    pub per_s: f64,
    /// The median of the times to connect, µs; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_p50_us: Option<f64>,
    /// The 99th percentile of them, µs; absent below 299.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_p99_us: Option<f64>,
    /// The maximum of them, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_max_us: Option<f64>,
    /// The median of the times of the TLS handshake, µs; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_p50_us: Option<f64>,
    /// The median of the times to the first byte, µs; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_p50_us: Option<f64>,
}
