//! What is asked about flows over a topology.

use caudal_topology::{Topology, TopologyFile};
use std::time::Duration;

/// What is asked about flows over a topology.
#[derive(Debug)]
pub struct TopologyQuestion<'a> {
    /// The name of its file or preset.
    pub name: &'a str,
    /// The topology as it is written.
    pub file: &'a TopologyFile,
    /// The same as a network.
    pub topology: &'a Topology,
    /// The duration of the simulated flows, in virtual time.
    pub time: Duration,
    /// The seed of the first simulation.
    pub seed: u64,
    /// The number of simulations, with consecutive seeds.
    pub seeds: u32,
}
