//! The predictions for all flows and links.

use super::comparison::FlowComparison;
use super::error::TopologyReportError;
use super::flow::TopologyFlow;
use super::link_predictions::link_predictions;
use super::question::TopologyQuestion;
use super::seeded_runs::SeededRuns;
use crate::topology::{FlowParameters, FlowPrediction, predict_flows};
use caudal_core::prediction::Prediction;
use caudal_topology::Hop;

/// A flow with its predictions.
#[derive(Debug)]
pub struct PredictedFlow {
    /// The flow.
    pub flow: TopologyFlow,
    /// What its formulas predict, and for which path.
    pub forecast: FlowPrediction,
    /// By formula and as simulated, with names that end in the number of the flow.
    pub predictions: Vec<Prediction>,
    /// A sentence for each value whose formula and simulation are compared.
    pub differences: Vec<String>,
}

/// The predictions for all flows and for the links they cross.
#[derive(Debug)]
pub struct TopologyReport<'a> {
    /// What was asked.
    pub question: &'a TopologyQuestion<'a>,
    /// The flows.
    pub flows: Vec<PredictedFlow>,
    /// The predictions for links, of the simulation with the first seed.
    pub links: Vec<Prediction>,
    /// The simulations.
    pub runs: SeededRuns,
}

impl<'a> TopologyReport<'a> {
    /// Predicts and simulates flows.
    ///
    /// # Errors
    /// When the simulator refuses the flows.
    pub fn new(
        question: &'a TopologyQuestion<'a>,
        flows: Vec<TopologyFlow>,
    ) -> Result<Self, TopologyReportError> {
        let runs = SeededRuns::simulate(question, &flows)?;
        let parameters: Vec<FlowParameters> = flows.iter().map(|flow| flow.parameters).collect();
        let forecasts = predict_flows(question.topology, &parameters);
        let flows = flows.into_iter().zip(forecasts).enumerate();
        let flows = flows.map(|(index, (flow, forecast))| {
            let predictions = flow_predictions(index, &forecast, &runs);
            let comparison = FlowComparison {
                topology: question.topology,
                runs: &runs,
                index,
                forecast: &forecast,
                time: question.time,
            };
            let differences = comparison.differences(&predictions);
            PredictedFlow {
                flow,
                forecast,
                predictions,
                differences,
            }
        });
        let flows = flows.collect();
        let links = runs.first.result.links.iter();
        Ok(Self {
            question,
            flows,
            links: links.flat_map(link_predictions).collect(),
            runs,
        })
    }

    /// Every prediction, those of flows first.
    pub fn predictions(&self) -> impl Iterator<Item = &Prediction> {
        let flows = self.flows.iter().flat_map(|flow| &flow.predictions);
        flows.chain(&self.links)
    }

    /// The names of the nodes that a flow leads from and to.
    #[must_use]
    pub fn ends(&self, flow: &PredictedFlow) -> [&str; 2] {
        let parameters = &flow.flow.parameters;
        [parameters.from, parameters.to]
            .map(|node| self.question.topology.nodes[node].name.as_str())
    }

    /// The names of the nodes that a hop leads from and to.
    #[must_use]
    pub fn hop_ends(&self, hop: Hop) -> [&str; 2] {
        let topology = self.question.topology;
        let ends = &topology.links[hop.link].ends;
        [hop.from, 1 - hop.from].map(|end| topology.nodes[ends[end].node].name.as_str())
    }
}

/// The predictions of the flow at an index by formula and as simulated, with names that end in its number.
fn flow_predictions(index: usize, forecast: &FlowPrediction, runs: &SeededRuns) -> Vec<Prediction> {
    let mut predictions = forecast.predictions.clone();
    predictions.extend(runs.values(index, &forecast.predictions));
    for prediction in &mut predictions {
        prediction.name = format!("{}_{}", prediction.name, index + 1);
    }
    predictions
}
