//! The state of a path while it is probed.

use super::between_ends::PathBetweenEnds;
use super::hop::PathHop;
use super::link::PathLink;
use super::route::RouteChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is being probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathPhase {
    /// The hops.
    Hops,
    /// Other routes.
    Routes,
    /// The path MTU.
    Mtu,
    /// Round-trip times alone.
    RoundTrips,
    /// Each hop, over and over, until the user ends it.
    Watch,
    /// The capacity of each link.
    Capacity,
    /// The capacity of each link, by probes behind primers.
    PrimedCapacity,
    /// Round-trip times between both ends without load.
    Baseline,
    /// The capacity of the narrow link between both ends, and shapers.
    NarrowLink,
    /// The available bandwidth between both ends.
    AvailableBandwidth,
    /// The duplex mode of the links between both ends.
    Duplex,
    /// The throughput of TCP between both ends.
    Throughput,
    /// Latency under load between both ends.
    LatencyUnderLoad,
}

/// What is known after a round of probes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathRound {
    /// The time, s after the first packet.
    pub at_s: f64,
    /// What is being probed.
    pub phase: PathPhase,
    /// The time that is left, s: at most while one end probes, about while both ends measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_s: Option<f64>,
    /// The hops so far.
    pub hops: Vec<PathHop>,
    /// The links so far.
    pub links: Vec<PathLink>,
    /// The changes of the route so far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RouteChange>,
    /// What both ends have measured together so far; absent before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_ends: Option<Box<PathBetweenEnds>>,
}
