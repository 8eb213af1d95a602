//! One execution of `caudal predict topology`.

use super::args::PredictTopologyArgs;
use super::comparison::FlowComparison;
use super::flow_predictions::flow_predictions;
use super::json::json;
use super::link_predictions::link_predictions;
use super::report::{PredictedFlow, TopologyReport};
use super::simulate_error::usage_failure;
use super::text::text;
use super::topology_flow::TopologyFlow;
use crate::exit::{Exit, Failure};
use crate::predict::output;
use caudal_core::prediction::Prediction;
use caudal_predict::topology::{FlowParameters, predict_flows};
use caudal_simulate::result::SimulationResult;
use caudal_simulate::scenario::{Scenario, SimFlow};
use caudal_simulate::simulate;
use caudal_topology::Topology;
use std::time::Duration;

/// The number of frames and timers after which a simulation is cut short, which takes some seconds of CPU time.
const EVENT_LIMIT: u64 = 20_000_000;

/// Runs `caudal predict topology`.
///
/// # Errors
/// When the topology or a flow is invalid, or the predictions cannot be written.
pub(in crate::predict) fn predict(args: &PredictTopologyArgs) -> Result<Exit, Failure> {
    let file = crate::topology::read(&args.what)?;
    let topology = Topology::resolve(&file)
        .map_err(|error| Failure::usage(error.problem.clone(), error.remedy.clone()))?;
    let specs = TopologyFlow::from_args(args, &topology)?;
    let seed = args.what.seed.unwrap_or(1);
    let result = simulate_flows(args, &topology, &specs, seed)?;
    let parameters: Vec<FlowParameters> = specs.iter().map(|spec| spec.parameters).collect();
    let forecasts = predict_flows(&topology, &parameters);
    let flows = specs
        .into_iter()
        .zip(forecasts)
        .enumerate()
        .map(|(index, (spec, forecast))| {
            let predictions = flow_predictions(index, &forecast, &result.flows[index]);
            let comparison = FlowComparison {
                topology: &topology,
                result: &result,
                index,
                forecast: &forecast,
                time: args.time,
            };
            let differences = comparison.differences(&predictions);
            PredictedFlow {
                spec,
                forecast,
                predictions,
                differences,
            }
        })
        .collect();
    let report = TopologyReport {
        args,
        topology: &topology,
        seed,
        flows,
        links: result.links.iter().flat_map(link_predictions).collect(),
        result,
    };
    let predictions: Vec<&Prediction> = report.predictions().collect();
    output::write_formats(
        &args.output.without_figure(),
        &text(&report),
        &|| json(&report),
        &|| output::prediction_rows(&predictions),
    )?;
    Ok(Exit::Done)
}

fn simulate_flows(
    args: &PredictTopologyArgs,
    topology: &Topology,
    specs: &[TopologyFlow],
    seed: u64,
) -> Result<SimulationResult, Failure> {
    let name = |node: usize| topology.nodes[node].name.clone();
    let flows = specs.iter().map(|spec| {
        let (from, to) = (spec.parameters.from, spec.parameters.to);
        SimFlow::between(name(from), name(to), spec.traffic.clone())
    });
    let scenario = Scenario {
        seed,
        interval: args.time.max(Duration::from_nanos(1)),
        event_limit: EVENT_LIMIT,
        ..Scenario::new(flows.collect(), args.time)
    };
    simulate(topology, &scenario).map_err(|error| usage_failure(&error))
}
