//! The predictions for all flows and links.

use super::args::PredictTopologyArgs;
use super::seeded_runs::SeededRuns;
use super::topology_flow::TopologyFlow;
use caudal_core::prediction::Prediction;
use caudal_predict::topology::FlowPrediction;
use caudal_topology::{Hop, Topology};

/// A flow with its predictions.
pub(super) struct PredictedFlow {
    pub(super) spec: TopologyFlow,
    pub(super) forecast: FlowPrediction,
    /// By formula and as simulated, with names that end in the number of the flow.
    pub(super) predictions: Vec<Prediction>,
    /// A sentence for each value whose formula and simulation are compared.
    pub(super) differences: Vec<String>,
}

/// The predictions for all flows and for the links they cross.
pub(super) struct TopologyReport<'a> {
    pub(super) args: &'a PredictTopologyArgs,
    pub(super) topology: &'a Topology,
    pub(super) flows: Vec<PredictedFlow>,
    /// Of the simulation with the first seed.
    pub(super) links: Vec<Prediction>,
    pub(super) runs: SeededRuns,
}

impl TopologyReport<'_> {
    /// Every prediction, those of flows first.
    pub(super) fn predictions(&self) -> impl Iterator<Item = &Prediction> {
        let flows = self.flows.iter().flat_map(|flow| &flow.predictions);
        flows.chain(&self.links)
    }

    /// The names of the nodes that a flow leads from and to.
    pub(super) fn ends(&self, flow: &PredictedFlow) -> [&str; 2] {
        [flow.spec.parameters.from, flow.spec.parameters.to]
            .map(|node| self.topology.nodes[node].name.as_str())
    }

    /// The names of the nodes that a hop leads from and to.
    pub(super) fn hop_ends(&self, hop: Hop) -> [&str; 2] {
        let ends = &self.topology.links[hop.link].ends;
        [hop.from, 1 - hop.from].map(|end| self.topology.nodes[ends[end].node].name.as_str())
    }
}
