//! Predictions of formulas for the flows of a case.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_core::prediction::Prediction;
use caudal_core::units::BitRate;
use caudal_experiment::{Case, FlowKindFile, FlowSpec, RateSpec};
use caudal_predict::loss::LossResponse;
use caudal_predict::topology::{FlowKind, FlowParameters, predict_flows};

use super::files::add_file;
use super::paths::add_paths;
use super::tcp_settings::{congestion, flow_framing, tcp_settings, transport};
use super::totals::{add_total_loss, add_totals};
use crate::flow_times::{FlowTimes, message_sizes};
use crate::testbed::{LabNetwork, Testbed, datagram_payload, is_echo, is_throughput, offered_rate};

/// Maximum share of a rate that rounding it to whole bits per second changes: for rates of 1 Mbit/s and more.
const MAX_ROUNDING: f64 = 1e-6;
/// A message that is about as short as an acknowledgement, bytes.
const SMALLEST_MESSAGE: u32 = 1;
/// The time that the hosts add to a message and its echo: system calls, wake-ups, the emulator's own delay.
const HOST_TIME: Duration = Duration::from_micros(300);

/// `true` for a flow that sends during the whole measurement, as formulas assume.
fn sends_throughout(case: &Case, flow: &FlowSpec) -> bool {
    let times = FlowTimes::new(case, flow);
    let whole = case.warm_up + case.measure;
    times.start <= case.warm_up && times.end().is_none_or(|end| end >= whole)
}

/// The predictions of formulas for a case, by the names of the metrics.
pub(super) fn predict_by_formulas(
    case: &Case,
    testbed: &Testbed,
    network: &LabNetwork,
) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let is_load = |flow: &&FlowSpec| is_throughput(flow);
    let loads: Vec<&FlowSpec> = case.flows.iter().filter(is_load).collect();
    let echoes: Vec<&FlowSpec> = case.flows.iter().filter(|flow| is_echo(flow)).collect();
    let limited = |flow: &FlowSpec| flow.kind == FlowKindFile::Tcp && flow.rate != RateSpec::Max;
    let unlimited = |flow: &FlowSpec| flow.kind == FlowKindFile::Udp && flow.rate == RateSpec::Max;
    // No formula here covers what a limited TCP leaves to others, nor a sender of datagrams without a limit.
    let formulas_apply = loads
        .iter()
        .all(|flow| sends_throughout(case, flow) && !unlimited(flow))
        && (loads.len() < 2 || !loads.iter().any(|flow| limited(flow)));
    if formulas_apply && !loads.is_empty() {
        predict_loads(&loads, testbed, network, &mut all);
        add_total_loss(case, testbed, &mut all);
    }
    if let [file] = &case.flows[..]
        && file.kind == FlowKindFile::File
    {
        let empty = round_trip(file, SMALLEST_MESSAGE, testbed, network);
        add_file(file, testbed, network, empty, &mut all);
    }
    add_paths(case, testbed, network, &mut all);
    // The formula is for empty queues.
    if loads.is_empty() {
        for flow in echoes.into_iter().filter(|flow| flow.count == 1) {
            let times = round_trips(flow, testbed, network);
            if let Some(times) = times.filter(|times| !times.is_empty()) {
                let mean = times.iter().sum::<f64>() / times.len() as f64;
                all.insert(format!("{}.rtt", flow.name), mean);
            }
        }
    }
    all
}

/// The round-trip time of a message of each size of an echo flow over empty links, in seconds.
fn round_trips(flow: &FlowSpec, testbed: &Testbed, network: &LabNetwork) -> Option<Vec<f64>> {
    let each = |message| round_trip(flow, message, testbed, network);
    message_sizes(flow).into_iter().map(each).collect()
}

/// The round-trip time of a message of this size over empty links, in seconds.
fn round_trip(
    flow: &FlowSpec,
    message: u32,
    testbed: &Testbed,
    network: &LabNetwork,
) -> Option<f64> {
    let kind = FlowKind::Echo {
        transport: transport(flow),
        message,
    };
    let parameters = flow_parameters(flow, testbed, network, kind)?;
    value(
        &predict_flows(&network.topology, &[parameters])
            .first()?
            .predictions,
        "rtt",
    )
}

/// The approximate time in which a client exchanges one message of each size of an echo flow: that of the links, which its clients
/// share, and that of the hosts.
pub(crate) fn cycle_time(flow: &FlowSpec, testbed: &Testbed) -> Option<Duration> {
    // Clients share both directions of the path, and a message is in one of them at a time.
    let sharing = (f64::from(flow.count) / 2.0).max(1.0);
    let times = round_trips(flow, testbed, testbed.network()?)?;
    let on_links: f64 = times.iter().map(|time| time * sharing).sum();
    let in_hosts = HOST_TIME * u32::try_from(times.len()).ok()?;
    Some(in_hosts + Duration::try_from_secs_f64(on_links).ok()?)
}

fn flow_parameters(
    flow: &FlowSpec,
    testbed: &Testbed,
    network: &LabNetwork,
    kind: FlowKind,
) -> Option<FlowParameters> {
    Some(FlowParameters {
        from: network.topology.node(&flow.from)?,
        to: network.topology.node(&flow.to)?,
        framing: flow_framing(flow, testbed),
        kind,
    })
}

fn value(predictions: &[Prediction], name: &str) -> Option<f64> {
    predictions
        .iter()
        .find(|one| one.name == name)
        .map(|one| one.value)
}

fn predict_loads(
    loads: &[&FlowSpec],
    testbed: &Testbed,
    network: &LabNetwork,
    all: &mut BTreeMap<String, f64>,
) {
    let mut parameters_of_all = Vec::new();
    let mut flow_of = Vec::new();
    for (nth, flow) in loads.iter().enumerate() {
        let offered = offered_rate(flow, testbed).ok().flatten();
        let kind = match flow.kind {
            FlowKindFile::Udp => FlowKind::Udp {
                rate: BitRate::from_f64(offered.unwrap_or(0.0)).unwrap_or(BitRate::ZERO),
                payload: datagram_payload(flow, testbed),
            },
            _ => {
                let settings = tcp_settings(flow, testbed, network).unwrap_or_default();
                FlowKind::Tcp {
                    loss_response: congestion(flow, network)
                        .and_then(|name| LossResponse::for_congestion_control(&name)),
                    window: settings.send_window.min(settings.receive_window),
                }
            }
        };
        let Some(parameters) = flow_parameters(flow, testbed, network, kind) else {
            return;
        };
        for _ in 0..flow.count {
            parameters_of_all.push(parameters);
            flow_of.push(nth);
        }
    }
    let predictions = predict_flows(&network.topology, &parameters_of_all);
    let mut goodputs = Vec::new();
    // A sum over some of the flows is not that of all.
    let mut covered = true;
    for (nth, flow) in loads.iter().enumerate() {
        let offered = offered_rate(flow, testbed).ok().flatten();
        let mut sum = Some(0.0);
        let mut rtt = None;
        for (_, prediction) in flow_of
            .iter()
            .zip(&predictions)
            .filter(|(flow_of, _)| **flow_of == nth)
        {
            let one = value(&prediction.predictions, "goodput")
                .map(|goodput| offered.map_or(goodput, |offered| goodput.min(offered)));
            sum = sum.zip(one).map(|(sum, one)| sum + one);
            if let Some(one) = one {
                goodputs.push((flow.probe, one));
            }
            rtt = value(&prediction.predictions, "rtt");
        }
        let Some(sum) = sum else {
            covered = false;
            continue;
        };
        all.insert(format!("{}.goodput", flow.name), sum);
        match (flow.kind, offered) {
            (FlowKindFile::Udp, Some(offered)) if offered > 0.0 => {
                let lost = 1.0 - sum / (offered * f64::from(flow.count));
                // Rates are rounded to whole bits per second, which is no loss.
                let lost = if lost < MAX_ROUNDING { 0.0 } else { lost };
                all.insert(format!("{}.loss", flow.name), lost);
            }
            (FlowKindFile::Tcp, _) => {
                all.extend(rtt.map(|rtt| (format!("{}.rtt_min", flow.name), rtt)));
            }
            _ => {}
        }
    }
    if covered {
        add_totals(&goodputs, all);
    }
}
