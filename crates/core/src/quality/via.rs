//! The delay as far as a host on the way, which answers echoes.

use crate::text::ExternalText;
use caudal_stats::DistributionSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A host on the way, whose echoes split the delay that load adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViaHost {
    /// The host as it was named.
    pub host: ExternalText,
    /// Its address.
    pub address: ExternalText,
    /// Each phase, in order.
    pub phases: Vec<ViaPhase>,
}

/// The echoes of that host in a phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViaPhase {
    /// ICMP echo requests sent in the part of the phase that counts.
    pub sent: u64,
    /// Of these, requests without a reply.
    pub lost: u64,
    /// Their round-trip times, µs; absent without a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<DistributionSummary>,
    /// What load adds to their mean, µs; absent in the phase without load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_us: Option<f64>,
}
