//! The predictions for a topology as JSON.

use super::report::{PredictedFlow, TopologyReport};
use crate::invocation::command_line;
use crate::predict::output;
use caudal_core::prediction::Prediction;
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
        "words": format!("Goodput of flows over {}", report.args.what.what),
        "given": { "time_s": report.args.time.as_secs_f64(), "seed": report.seed },
        "topology": {
            "flows": flows,
            "simulated_s": report.result.end.as_ns() as f64 / 1e9,
            "events": report.result.events,
            "cut_short": report.result.cut_short,
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
