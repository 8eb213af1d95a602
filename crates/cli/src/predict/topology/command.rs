//! One execution of `caudal predict topology`.

use super::args::PredictTopologyArgs;
use crate::exit::{Exit, Failure};
use crate::invocation::command_line;
use crate::output::line_width;
use crate::predict::output::{arithmetic, write_formats};
use caudal_engine::this_tool;
use caudal_predict::topology_report::{
    FlowTextError, TopologyFlow, TopologyQuestion, TopologyReport, TopologyReportError,
};
use caudal_simulate::error::SimulateError;
use caudal_topology::{NodeRole, Topology, TopologyError};
use caudal_views::predict::{prediction_rows, topology_document, topology_lines};

/// Maximum number of flows.
const MAX_FLOWS: usize = 100;

/// Runs `caudal predict topology`.
///
/// # Errors
/// When the topology or a flow is invalid, or the predictions cannot be written.
pub(in crate::predict) fn predict(args: &PredictTopologyArgs) -> Result<Exit, Failure> {
    let file = crate::topology::read(&args.what)?;
    let topology = Topology::resolve(&file).map_err(|error| topology_failure(&error))?;
    let flows = flows(args, &topology)?;
    let question = TopologyQuestion {
        name: &args.what.what,
        file: &file,
        topology: &topology,
        time: args.time,
        seed: args.what.seed.unwrap_or(1),
        seeds: args.seeds,
    };
    let report = TopologyReport::new(&question, flows).map_err(|error| match error {
        TopologyReportError::Topology(error) => topology_failure(&error),
        TopologyReportError::Simulation(error) => simulation_failure(&error),
    })?;
    let arithmetic = arithmetic(args.output.explain);
    write_formats(
        &args.output.formats,
        &topology_lines(&report, arithmetic, line_width()),
        &|| topology_document(&report, &this_tool(None), &command_line()),
        &|| prediction_rows(report.predictions()),
    )?;
    Ok(Exit::Done)
}

/// The flows of the command line; without any, one TCP transfer from the first host to the last.
///
/// # Errors
/// When there are too many flows, or one of them cannot be read.
fn flows(args: &PredictTopologyArgs, topology: &Topology) -> Result<Vec<TopologyFlow>, Failure> {
    if args.flows.len() > MAX_FLOWS {
        return Err(Failure::usage(
            format!("--flow is given more than {MAX_FLOWS} times"),
            "give fewer flows",
        ));
    }
    let parse =
        |text: &str| TopologyFlow::parse(text, topology).map_err(|error| flow_failure(&error));
    if !args.flows.is_empty() {
        return args.flows.iter().map(|text| parse(text)).collect();
    }
    let hosts: Vec<&str> = topology
        .nodes
        .iter()
        .filter(|node| matches!(node.role, NodeRole::Host(_)))
        .map(|node| node.name.as_str())
        .collect();
    match hosts[..] {
        [first, .., last] => Ok(vec![parse(&format!("{first}>{last}:tcp"))?]),
        _ => Err(Failure::usage(
            "the topology has fewer than two hosts",
            "add a host, or name routers with --flow",
        )),
    }
}

fn flow_failure(error: &FlowTextError) -> Failure {
    match error {
        FlowTextError::Invalid { remedy, .. } => {
            Failure::usage(format!("--flow {error}"), remedy.clone())
        }
        FlowTextError::Settings(error) => simulation_failure(error),
    }
}

fn topology_failure(error: &TopologyError) -> Failure {
    Failure::usage(error.problem.clone(), error.remedy.clone())
}

/// The reason why the simulator refuses a scenario, which the command line or the topology file has to change.
fn simulation_failure(error: &SimulateError) -> Failure {
    let message = error.to_string();
    match message.rsplit_once("; ") {
        Some((problem, remedy)) => Failure::usage(problem, remedy),
        None => Failure::usage(message, "change the flows or the topology"),
    }
}
