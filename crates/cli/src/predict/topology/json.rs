//! The predictions for a topology as JSON.

use super::report::{PredictedFlow, TopologyReport};
use super::seeded_runs::SeededRun;
use crate::invocation::command_line;
use crate::predict::output;
use caudal_core::prediction::Prediction;
use caudal_core::units::BitRate;
use caudal_topology::Hop;
use serde_json::{Value, json};

/// The report as one JSON object.
pub(super) fn json(report: &TopologyReport<'_>) -> Value {
    let flows = report.flows.iter().enumerate();
    let flows: Vec<Value> = flows
        .map(|(index, flow)| flow_json(report, index, flow))
        .collect();
    let predictions: Vec<&Prediction> = report.predictions().collect();
    json!({
        "schema": output::SCHEMA,
        "tool": caudal_engine::this_tool(None),
        "command": command_line(),
        "question": "topology",
        "subject": format!("Goodput of flows over {}", report.args.what.what),
        "given": { "time_s": report.args.time.as_secs_f64(), "seed": report.runs.first.seed, "seeds": report.args.seeds },
        "topology": {
            "flows": flows,
            "runs": report.runs.iter().map(run_json).collect::<Vec<_>>(),
            "simulated_s": report.runs.first.result.end.as_ns() as f64 / 1e9,
            "events": report.runs.first.result.events,
            "cut_short": report.runs.first.result.cut_short,
        },
        "predictions": predictions,
    })
}

fn flow_json(report: &TopologyReport<'_>, index: usize, flow: &PredictedFlow) -> Value {
    let [from, to] = report.ends(flow);
    let path = flow.forecast.path.iter();
    json!({
        "number": index + 1,
        "from": from,
        "to": to,
        "traffic": flow.spec.description,
        "path": path.map(|hop| hop_json(report, *hop)).collect::<Vec<_>>(),
        "mtu_bytes": flow.forecast.mtu,
        "differences": flow.differences,
        "not_covered": flow.forecast.not_covered.as_ref().map(ToString::to_string),
        "simulated_goodput": report.runs.goodput(index).map(|spread| json!({
            "min_bps": spread.min,
            "median_bps": spread.median,
            "max_bps": spread.max,
        })),
    })
}

/// One simulation with the goodput of each flow, in their order.
fn run_json(run: &SeededRun) -> Value {
    let flows = run.result.flows.iter();
    let goodputs: Vec<Option<u64>> = flows.map(|flow| flow.goodput.map(BitRate::bps)).collect();
    json!({
        "seed": run.seed,
        "events": run.result.events,
        "cut_short": run.result.cut_short,
        "goodput_bps": goodputs,
    })
}

fn hop_json(report: &TopologyReport<'_>, hop: Hop) -> Value {
    let link = &report.topology.links[hop.link];
    let impairments = report.topology.impairments(hop);
    let [from, to] = report.hop_ends(hop);
    json!({
        "link": link.name,
        "from": from,
        "to": to,
        "rate_bps": impairments.rate.as_ref().map(|rate| rate.max().bps()),
        "delay_s": impairments.delay.as_secs_f64(),
        "mtu_bytes": link.mtu,
        "half_duplex": report.topology.is_half_duplex(hop),
    })
}
