//! Simulates TCP and UDP flows over a topology file and prints the result as JSON.
//!
//! `cargo run --release -p caudal-simulate --example topology -- FILE SECONDS SEED JITTER FLOW...`, where hosts
//! delay each packet by up to JITTER, and a flow is
//! `FROM>TO:reno`, `FROM>TO:cubic`, or `FROM>TO:8M` for datagrams at a rate of payload.
#![allow(
    clippy::unwrap_used,
    reason = "a demonstration that cannot go on says where"
)]

use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::units::parse_duration;
use caudal_simulate::scenario::{Pattern, Scenario, SimFlow, Traffic, UdpSource};
use caudal_simulate::simulate;
use caudal_simulate::tcp::{CongestionControl, TcpSettings};
use caudal_topology::{Topology, TopologyFile};

fn flow(text: &str) -> SimFlow {
    let (ends, kind) = text.split_once(':').unwrap();
    let (from, to) = ends.split_once('>').unwrap();
    let tcp = |congestion| {
        Traffic::tcp(TcpSettings {
            congestion,
            ..TcpSettings::default()
        })
    };
    let traffic = match kind {
        "reno" => tcp(CongestionControl::Reno),
        "cubic" => tcp(CongestionControl::Cubic),
        rate => Traffic::Udp(UdpSource {
            framing: Framing::default(),
            payload: 1472,
            pattern: Pattern::Constant(rate.parse().unwrap()),
        }),
    };
    SimFlow::between(from, to, traffic)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, seconds, seed, jitter, flows @ ..] = &arguments[..] else {
        eprintln!("usage: topology FILE SECONDS SEED JITTER FROM>TO:reno|cubic|RATE...");
        return;
    };
    let file: TopologyFile = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let topology = Topology::resolve(&file).unwrap();
    let flows = flows.iter().map(|text| flow(text)).collect();
    let duration = Duration::from_secs_f64(seconds.parse().unwrap());
    let scenario = Scenario {
        seed: seed.parse().unwrap(),
        host_jitter: parse_duration(jitter).unwrap(),
        ..Scenario::new(flows, duration)
    };
    let result = simulate(&topology, &scenario).unwrap();
    println!("{}", serde_json::to_string_pretty(&result).unwrap());
}
