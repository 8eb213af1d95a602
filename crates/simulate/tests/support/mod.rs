//! Topologies, flows and results for tests.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test uses some of it, and one that cannot go on says where"
)]

use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::units::{BitRate, ByteCount};
use caudal_simulate::result::{FlowDetails, FlowResult, SimulationResult, TcpCounts};
use caudal_simulate::scenario::{Pattern, Scenario, SimFlow, Traffic, UdpSource};
use caudal_simulate::simulate;
use caudal_simulate::tcp::{CongestionControl, TcpSettings};
use caudal_topology::{Topology, TopologyFile};

pub fn topology(text: &str) -> Topology {
    let file: TopologyFile = toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Topology::resolve(&file).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Hosts a and b and a link with `keys`.
pub fn pair(keys: &str) -> Topology {
    topology(&format!(
        "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"], {keys} }}]"
    ))
}

/// Hosts h1 to h3 on a switch with links of 10 Mbit/s in these duplex modes.
pub fn star(duplex: [&str; 3]) -> Topology {
    let links: Vec<String> = duplex
        .iter()
        .enumerate()
        .map(|(position, duplex)| {
            let host = position + 1;
            format!("{{ between = [\"h{host}\", \"s\"], rate = \"10M\", duplex = \"{duplex}\" }}")
        })
        .collect();
    topology(&format!(
        "host = [{{ name = \"h1\" }}, {{ name = \"h2\" }}, {{ name = \"h3\" }}]\nswitch = [{{ name = \"s\" }}]\nlink = [{}]",
        links.join(", ")
    ))
}

pub const FULL: [&str; 3] = ["full"; 3];

pub fn settings(congestion: CongestionControl) -> TcpSettings {
    TcpSettings {
        congestion,
        ..TcpSettings::default()
    }
}

pub fn reno() -> Traffic {
    Traffic::tcp(settings(CongestionControl::Reno))
}

pub fn cubic() -> Traffic {
    Traffic::tcp(settings(CongestionControl::Cubic))
}

/// CUBIC with a receive window of `segments` full segments.
pub fn windowed(segments: u64) -> Traffic {
    Traffic::tcp(TcpSettings {
        receive_window: ByteCount::new(segments * 1448),
        ..TcpSettings::default()
    })
}

/// Full datagrams at a constant rate of `mbit` Mbit/s of payload.
pub fn udp(mbit: f64) -> Traffic {
    Traffic::Udp(UdpSource {
        framing: Framing::default(),
        payload: 1472,
        pattern: Pattern::Constant(BitRate::from_f64(mbit * 1e6).unwrap()),
    })
}

/// The result of `flows` over `topology` for `seconds`.
pub fn run(topology: &Topology, flows: Vec<SimFlow>, seconds: f64) -> SimulationResult {
    let scenario = Scenario::new(flows, Duration::from_secs_f64(seconds));
    simulate(topology, &scenario).unwrap()
}

/// The goodput of the whole flow in Mbit/s.
pub fn mbit(flow: &FlowResult) -> f64 {
    flow.goodput.unwrap().as_f64() / 1e6
}

/// The mean goodput in Mbit/s of the intervals from `skip` on, when slow start is over.
pub fn mbit_from(flow: &FlowResult, skip: usize) -> f64 {
    let intervals = &flow.intervals[skip..];
    let sum: f64 = intervals.iter().map(|it| it.goodput.as_f64()).sum();
    sum / intervals.len() as f64 / 1e6
}

pub fn counts(flow: &FlowResult) -> TcpCounts {
    match &flow.details {
        FlowDetails::Tcp { counts, .. } => *counts,
        other => panic!("not a TCP flow: {other:?}"),
    }
}

/// The fraction of datagrams lost.
pub fn loss_ratio(flow: &FlowResult) -> f64 {
    match &flow.details {
        FlowDetails::Udp { counts, .. } => counts.lost as f64 / counts.expected as f64,
        other => panic!("not a UDP flow: {other:?}"),
    }
}
