//! Simulations of cases.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_core::plan::Transport;
use caudal_core::units::{BitRate, ByteCount};
use caudal_experiment::{Case, DEFAULT_MESSAGES, FlowKindFile, FlowSpec, RateSpec};
use caudal_simulate::result::{FlowResult, SimulationResult};
use caudal_simulate::scenario::{
    EchoClient, EchoTransport, Pattern, Scenario, SimFlow, Traffic, UdpSource,
};
use caudal_simulate::simulate;

use super::simulated_metrics::{add_flow, add_link};
use super::tcp_settings::{congestion, flow_framing, tcp_settings, transport};
use super::totals::{add_total_loss, add_totals};
use crate::flow_times::{FlowTimes, message_sizes};
use crate::testbed::{
    LabNetwork, Testbed, datagram_payload, line_rate, offered_rate, path_of_flow,
};

/// Maximum number of connections of a case that is simulated.
const MAX_CONNECTIONS: u32 = 64;

/// The simulation of a case.
pub(super) struct Simulated {
    /// The metrics, by their names; the reason when there is none.
    pub(super) metrics: Result<BTreeMap<String, f64>, String>,
    /// The events that it took: frames and timers.
    pub(super) events: u64,
}

/// The flows of a scenario.
struct SimulatedFlows {
    connections: Vec<SimFlow>,
    /// The number of the flow of each connection.
    flow_of: Vec<usize>,
}

/// Simulates a case with at most `max_events`.
pub(super) fn simulate_case(
    case: &Case,
    testbed: &Testbed,
    network: &LabNetwork,
    max_events: u64,
) -> Simulated {
    let refused = |reason: String| Simulated {
        metrics: Err(reason),
        events: 0,
    };
    if max_events == 0 {
        return refused("the study's share of simulated frames was used up".to_owned());
    }
    let flows = match simulated_flows(case, testbed, network) {
        Ok(flows) => flows,
        Err(reason) => return refused(reason),
    };
    let ends = case
        .flows
        .iter()
        .map(|flow| FlowTimes::new(case, flow).end());
    let whole = case.warm_up + case.measure;
    let duration = ends
        .flatten()
        .max()
        .unwrap_or(whole)
        .max(whole)
        .max(time_for_bytes(case, testbed, network));
    let scenario = Scenario {
        interval: case.interval,
        event_limit: max_events,
        ..Scenario::new(flows.connections, duration)
    };
    let result = match simulate(&network.topology, &scenario) {
        Ok(result) => result,
        Err(error) => return refused(error.to_string()),
    };
    Simulated {
        events: result.events,
        metrics: if result.cut_short {
            Err("it has too many frames".to_owned())
        } else {
            Ok(metrics(case, testbed, &result, &flows.flow_of))
        },
    }
}

/// The connections of a case.
///
/// # Errors
/// The reason why the simulation lacks one.
fn simulated_flows(
    case: &Case,
    testbed: &Testbed,
    network: &LabNetwork,
) -> Result<SimulatedFlows, String> {
    let connections: u32 = case.flows.iter().map(|flow| flow.count).sum();
    if connections > MAX_CONNECTIONS {
        return Err(format!("more than {MAX_CONNECTIONS} connections"));
    }
    let mut flows = SimulatedFlows {
        connections: Vec::new(),
        flow_of: Vec::new(),
    };
    for (nth, flow) in case.flows.iter().enumerate() {
        let times = FlowTimes::new(case, flow);
        let traffic = traffic(flow, &times, testbed, network)?;
        let end = times.end().or_else(|| sent_by(flow, testbed, times.start));
        for _ in 0..flow.count {
            let mut one =
                SimFlow::between(&flow.from, &flow.to, traffic.clone()).starting(times.start);
            if let Some(end) = end {
                one = one.stopping(end);
            }
            flows.connections.push(one);
            flows.flow_of.push(nth);
        }
    }
    Ok(flows)
}

/// The traffic of each connection of a flow.
///
/// # Errors
/// The reason why the simulation lacks it.
fn traffic(
    flow: &FlowSpec,
    times: &FlowTimes,
    testbed: &Testbed,
    network: &LabNetwork,
) -> Result<Traffic, String> {
    let is_tcp = transport(flow) == Transport::Tcp;
    let tcp = tcp_settings(flow, testbed, network);
    if is_tcp && tcp.is_none() {
        let name = congestion(flow, network).unwrap_or_default();
        return Err(format!(
            "its TCP is {name}, which the simulation does not have"
        ));
    }
    let tcp = tcp.unwrap_or_default();
    Ok(match flow.kind {
        FlowKindFile::Tcp if flow.rate != RateSpec::Max => {
            return Err("the simulation has no TCP that is held to a rate".to_owned());
        }
        FlowKindFile::Tcp => Traffic::Tcp {
            settings: tcp,
            bytes: flow
                .bytes
                .map(|bytes| ByteCount::new(bytes.get() / u64::from(flow.count.max(1)))),
        },
        FlowKindFile::Udp => {
            let Some(rate) = offered_rate(flow, testbed).ok().flatten() else {
                return Err("UDP without a rate is as fast as the machine".to_owned());
            };
            Traffic::Udp(UdpSource {
                framing: flow_framing(flow, testbed),
                payload: datagram_payload(flow, testbed),
                pattern: Pattern::Constant(BitRate::from_f64(rate).unwrap_or(BitRate::ZERO)),
            })
        }
        FlowKindFile::File => return Err("the simulation has no file transfer".to_owned()),
        FlowKindFile::Path => return Err("the simulation probes no path".to_owned()),
        FlowKindFile::Rtt | FlowKindFile::RttUdp => {
            let sizes = message_sizes(flow);
            let [message] = sizes[..] else {
                return Err("the simulation has no echo of several sizes in turn".to_owned());
            };
            let messages = flow.messages.unwrap_or(DEFAULT_MESSAGES);
            Traffic::Echo(EchoClient {
                transport: if is_tcp {
                    EchoTransport::Tcp(tcp)
                } else {
                    EchoTransport::Udp(flow_framing(flow, testbed))
                },
                message,
                exchanges: times.time.is_none().then_some(messages),
                pause: flow.every.unwrap_or(Duration::ZERO),
            })
        }
    })
}

/// The metrics of a simulated case, by their names.
fn metrics(
    case: &Case,
    testbed: &Testbed,
    result: &SimulationResult,
    flow_of: &[usize],
) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let mut goodputs = Vec::new();
    for (nth, flow) in case.flows.iter().enumerate() {
        let connections: Vec<&FlowResult> = flow_of
            .iter()
            .zip(&result.flows)
            .filter(|(flow_of, _)| **flow_of == nth)
            .map(|(_, result)| result)
            .collect();
        let times = FlowTimes::new(case, flow);
        add_flow(flow, &times, &connections, &mut all, &mut goodputs);
    }
    add_totals(&goodputs, &mut all);
    add_total_loss(case, testbed, &mut all);
    let (mut collided, mut sent) = (0, 0);
    for link in &result.links {
        if let Some((of_link, frames)) = add_link(link, &mut all) {
            collided += of_link;
            sent += frames;
        }
    }
    let share = if sent > 0 {
        collided as f64 / sent as f64
    } else {
        0.0
    };
    all.insert("total.collisions".to_owned(), share);
    all
}

/// The time at which UDP that ends by bytes has sent them.
fn sent_by(flow: &FlowSpec, testbed: &Testbed, start: Duration) -> Option<Duration> {
    let rate = offered_rate(flow, testbed)
        .ok()
        .flatten()
        .filter(|rate| *rate > 0.0)?;
    let bytes = flow
        .bytes
        .filter(|_| flow.kind == FlowKindFile::Udp)?
        .as_f64()
        / f64::from(flow.count.max(1));
    Duration::try_from_secs_f64(bytes * 8.0 / rate)
        .ok()
        .map(|takes| start + takes)
}

/// The time in which flows that end by bytes are complete: one after another, and at half the rate of the slowest link.
fn time_for_bytes(case: &Case, testbed: &Testbed, network: &LabNetwork) -> Duration {
    let seconds = case.flows.iter().filter_map(|flow| {
        let bits = flow.bytes?.as_f64() * 8.0;
        let lines = path_of_flow(flow, network)
            .into_iter()
            .filter_map(|hop| line_rate(network.topology.impairments(hop)));
        let line = lines.map(BitRate::as_f64).reduce(f64::min)?;
        let offered = offered_rate(flow, testbed).ok().flatten().unwrap_or(line);
        Some(2.0 * bits / line.min(offered))
    });
    Duration::try_from_secs_f64(seconds.sum()).unwrap_or_default()
}
