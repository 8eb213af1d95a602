//! The traffic of others beside a test.

use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An end of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostEnd {
    /// The client's.
    Client,
    /// The server's.
    Server,
}

/// What passed the interface of an end in the direction of a test beside the test's own frames, by the interface's counters. Some
/// interfaces count several segments as one frame: then it lies between two rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherTraffic {
    /// The end: at the sender's it was sent, at the receiver's received.
    pub end: HostEnd,
    /// Its interface.
    pub interface: ExternalText,
    /// Its minimum rate, bit/s, with the headers of its frames.
    pub min_bps: f64,
    /// Its maximum rate, bit/s.
    pub max_bps: f64,
}

impl OtherTraffic {
    /// The middle of both rates, bit/s.
    #[must_use]
    pub const fn mean_bps(&self) -> f64 {
        f64::midpoint(self.min_bps, self.max_bps)
    }
}
