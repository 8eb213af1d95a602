//! One interval of a test of latency under load as it happens.

use crate::plan::PhaseLoad;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One interval of a phase: what the flows carried, and what the probes sent in it met.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QualityInterval {
    /// The load of the phase.
    pub load: PhaseLoad,
    /// Its beginning, s after the start of the test.
    pub start_s: f64,
    /// Its end, s.
    pub end_s: f64,
    /// Goodput of all flows from the server, bit/s; absent without such flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_bps: Option<f64>,
    /// Goodput of all flows to the server, bit/s; absent without such flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_bps: Option<f64>,
    /// The share of the flows' bytes that was retransmitted; absent without load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<f64>,
    /// The median of the UDP probes' round-trip times, µs; absent when none came back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<f64>,
    /// The maximum of them, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_max_us: Option<f64>,
    /// The median of the TCP probe's round-trip times, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_rtt_us: Option<f64>,
    /// UDP probes sent.
    pub probes: u64,
    /// Of these, probes that later ones overtook: lost, as far as could be told then.
    pub lost: u64,
}

impl QualityInterval {
    /// The share of the UDP probes that was lost; `None` when none was sent.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.probes > 0).then(|| self.lost as f64 / self.probes as f64)
    }
}
