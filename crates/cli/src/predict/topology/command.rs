//! One execution of `caudal predict topology`.

use super::args::PredictTopologyArgs;
use super::comparison::FlowComparison;
use super::flow_predictions::flow_predictions;
use super::json::json;
use super::link_predictions::link_predictions;
use super::report::{PredictedFlow, TopologyReport};
use super::seeded_runs::SeededRuns;
use super::text::text;
use super::topology_flow::TopologyFlow;
use crate::exit::{Exit, Failure};
use crate::predict::output;
use caudal_core::prediction::Prediction;
use caudal_predict::topology::{FlowParameters, predict_flows};
use caudal_topology::Topology;

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
    let runs = SeededRuns::simulate(args, (&file, &topology), &specs, seed)?;
    let parameters: Vec<FlowParameters> = specs.iter().map(|spec| spec.parameters).collect();
    let forecasts = predict_flows(&topology, &parameters);
    let flows = specs
        .into_iter()
        .zip(forecasts)
        .enumerate()
        .map(|(index, (spec, forecast))| {
            let predictions = flow_predictions(index, &forecast, &runs);
            let comparison = FlowComparison {
                topology: &topology,
                runs: &runs,
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
        flows,
        links: runs
            .first
            .result
            .links
            .iter()
            .flat_map(link_predictions)
            .collect(),
        runs,
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
