//! Responsiveness in round trips per minute.
//!
//! Source: draft-ietf-ippm-responsiveness-09, "Aggregating the Measurements", the case without TLS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far goodput and responsiveness had become stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponsivenessConfidence {
    /// The phase was too short to tell.
    Low,
    /// Goodput or responsiveness was still changing.
    Medium,
    /// Both were stable.
    High,
}

impl ResponsivenessConfidence {
    /// `low`, `medium` or `high`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The responsiveness of a phase with its parts, round trips per minute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Responsiveness {
    /// The mean of the two below.
    pub rpm: f64,
    /// On new connections: 60 s over the mean of the two trimmed means below.
    pub foreign_rpm: f64,
    /// On the loaded connections: 60 s over the trimmed mean below.
    pub loaded_rpm: f64,
    /// The trimmed mean of TCP handshakes (`tcp_f`), µs.
    pub tcp_f_us: f64,
    /// The trimmed mean of requests on new connections (`http_f`), µs.
    pub http_f_us: f64,
    /// The trimmed mean of the round-trip times on the loaded connections (in the place of `http_l`), µs.
    pub http_l_us: f64,
    /// The time at the end of the phase over which they were taken, s.
    pub window_s: f64,
    /// How far goodput and responsiveness had become stable.
    pub confidence: ResponsivenessConfidence,
}
