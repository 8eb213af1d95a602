//! Topologies and flows in few words.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test uses some of it, and one that cannot go on says where"
)]

use std::time::Duration;

use caudal_core::framing::Framing;
use caudal_core::units::{BitRate, ByteCount};
use caudal_simulate::outcome::{Details, FlowOutcome, Outcome, TcpCounts};
use caudal_simulate::run;
use caudal_simulate::scenario::{Flow, Pattern, Traffic, UdpSource};
use caudal_simulate::tcp::{Congestion, TcpSettings};
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

/// Hosts h1 to h3 on a switch with links of 10 Mbit/s, half duplex where it is said.
pub fn star(duplex: [&str; 3]) -> Topology {
    let links: Vec<String> = duplex
        .iter()
        .enumerate()
        .map(|(place, duplex)| {
            let host = place + 1;
            format!("{{ between = [\"h{host}\", \"s\"], rate = \"10M\", duplex = \"{duplex}\" }}")
        })
        .collect();
    topology(&format!(
        "host = [{{ name = \"h1\" }}, {{ name = \"h2\" }}, {{ name = \"h3\" }}]\nswitch = [{{ name = \"s\" }}]\nlink = [{}]",
        links.join(", ")
    ))
}

pub const FULL: [&str; 3] = ["full"; 3];

pub fn settings(congestion: Congestion) -> TcpSettings {
    TcpSettings {
        congestion,
        ..TcpSettings::default()
    }
}

pub fn reno() -> Traffic {
    Traffic::tcp(settings(Congestion::Reno))
}

pub fn cubic() -> Traffic {
    Traffic::tcp(settings(Congestion::Cubic))
}

/// CUBIC into a receiver's window of so many full segments.
pub fn windowed(segments: u64) -> Traffic {
    Traffic::tcp(TcpSettings {
        receive_window: ByteCount::new(segments * 1448),
        ..TcpSettings::default()
    })
}

/// Full datagrams, evenly, at so many Mbit/s of payload.
pub fn udp(mbit: f64) -> Traffic {
    Traffic::Udp(UdpSource {
        framing: Framing::default(),
        payload: 1472,
        pattern: Pattern::Constant(BitRate::from_f64(mbit * 1e6).unwrap()),
    })
}

pub fn play(topology: &Topology, flows: Vec<Flow>, seconds: f64) -> Outcome {
    run::of(topology, flows, Duration::from_secs_f64(seconds)).unwrap()
}

/// Mbit/s over the whole flow.
pub fn mbit(flow: &FlowOutcome) -> f64 {
    flow.goodput.unwrap().as_f64() / 1e6
}

/// Mbit/s over the intervals from `skip` on, when slow start is over.
pub fn settled(flow: &FlowOutcome, skip: usize) -> f64 {
    let kept = &flow.intervals[skip..];
    kept.iter().map(|i| i.goodput.as_f64()).sum::<f64>() / kept.len() as f64 / 1e6
}

pub fn counts(flow: &FlowOutcome) -> TcpCounts {
    match &flow.details {
        Details::Tcp { counts, .. } => *counts,
        other => panic!("no TCP flow: {other:?}"),
    }
}

/// The part of datagrams that was lost.
pub fn lost(flow: &FlowOutcome) -> f64 {
    match &flow.details {
        Details::Udp { counts, .. } => counts.lost as f64 / counts.expected as f64,
        other => panic!("no datagrams: {other:?}"),
    }
}
