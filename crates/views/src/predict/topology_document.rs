//! The predictions for a topology as a JSON document.

use super::document::PredictDocument;
use caudal_core::prediction::Prediction;
use caudal_core::run::Tool;
use caudal_core::units::BitRate;
use caudal_predict::topology_report::{PredictedFlow, SeededRun, TopologyReport};
use caudal_topology::Hop;
use serde::Serialize;
use serde_json::Value;

/// What is given beside the topology.
#[derive(Debug, Serialize)]
struct GivenRecord {
    time_s: f64,
    seed: u64,
    seeds: u32,
}

/// The topology with its predictions.
#[derive(Debug, Serialize)]
struct TopologyPredictions<'a> {
    topology: TopologyRecord<'a>,
    predictions: Vec<&'a Prediction>,
}

/// The flows over the topology, and the simulations.
#[derive(Debug, Serialize)]
struct TopologyRecord<'a> {
    flows: Vec<FlowOverTopology<'a>>,
    runs: Vec<SeededRunRecord>,
    simulated_s: f64,
    events: u64,
    cut_short: bool,
}

/// One flow: its path, and what was simulated.
#[derive(Debug, Serialize)]
struct FlowOverTopology<'a> {
    number: usize,
    from: &'a str,
    to: &'a str,
    traffic: &'a str,
    path: Vec<TopologyHopRecord<'a>>,
    mtu_bytes: u32,
    differences: &'a [String],
    not_covered: Option<String>,
    simulated_goodput: Option<SpreadRecord>,
}

/// The spread of a rate over the simulations.
#[derive(Debug, Serialize)]
struct SpreadRecord {
    min_bps: f64,
    median_bps: f64,
    max_bps: f64,
}

/// One simulation with the goodput of each flow, in their order.
#[derive(Debug, Serialize)]
struct SeededRunRecord {
    seed: u64,
    events: u64,
    cut_short: bool,
    goodput_bps: Vec<Option<u64>>,
}

/// A link on the path of a flow, in its direction.
#[derive(Debug, Serialize)]
struct TopologyHopRecord<'a> {
    link: &'a str,
    from: &'a str,
    to: &'a str,
    rate_bps: Option<u64>,
    delay_s: f64,
    mtu_bytes: u32,
    half_duplex: bool,
}

/// The document of the report, by this tool, called with this command.
#[must_use]
pub fn topology_document(report: &TopologyReport<'_>, tool: &Tool, command: &str) -> Value {
    let question = report.question;
    let flows = report.flows.iter().enumerate();
    let first = &report.runs.first;
    let given = GivenRecord {
        time_s: question.time.as_secs_f64(),
        seed: first.seed,
        seeds: question.seeds,
    };
    let predicted = TopologyPredictions {
        topology: TopologyRecord {
            flows: flows
                .map(|(index, flow)| flow_record(report, index, flow))
                .collect(),
            runs: report.runs.iter().map(run_record).collect(),
            simulated_s: first.result.end.as_ns() as f64 / 1e9,
            events: first.result.events,
            cut_short: first.result.cut_short,
        },
        predictions: report.predictions().collect(),
    };
    let subject = format!("Goodput of flows over {}", question.name);
    let document = PredictDocument::new((tool, command), ("topology", subject), given, predicted);
    document.to_value()
}

fn flow_record<'a>(
    report: &'a TopologyReport<'_>,
    index: usize,
    flow: &'a PredictedFlow,
) -> FlowOverTopology<'a> {
    let [from, to] = report.ends(flow);
    let path = flow.forecast.path.iter();
    let goodput = report.runs.goodput(index);
    FlowOverTopology {
        number: index + 1,
        from,
        to,
        traffic: &flow.flow.description,
        path: path.map(|hop| hop_record(report, *hop)).collect(),
        mtu_bytes: flow.forecast.mtu,
        differences: &flow.differences,
        not_covered: flow.forecast.not_covered.as_ref().map(ToString::to_string),
        simulated_goodput: goodput.map(|spread| SpreadRecord {
            min_bps: spread.min,
            median_bps: spread.median,
            max_bps: spread.max,
        }),
    }
}

fn run_record(run: &SeededRun) -> SeededRunRecord {
    let flows = run.result.flows.iter();
    SeededRunRecord {
        seed: run.seed,
        events: run.result.events,
        cut_short: run.result.cut_short,
        goodput_bps: flows.map(|flow| flow.goodput.map(BitRate::bps)).collect(),
    }
}

fn hop_record<'a>(report: &'a TopologyReport<'_>, hop: Hop) -> TopologyHopRecord<'a> {
    let topology = report.question.topology;
    let link = &topology.links[hop.link];
    let impairments = topology.impairments(hop);
    let [from, to] = report.hop_ends(hop);
    TopologyHopRecord {
        link: &link.name,
        from,
        to,
        rate_bps: impairments.rate.as_ref().map(|rate| rate.max().bps()),
        delay_s: impairments.delay.as_secs_f64(),
        mtu_bytes: link.mtu,
        half_duplex: topology.is_half_duplex(hop),
    }
}
