//! Runs TCP and UDP flows over a topology file and prints what came of them as JSON.
//!
//! `cargo run --release -p caudal-simulate --example topology -- FILE SECONDS SEED LATENESS FLOW...`, where a
//! host sends up to LATENESS later than it would, and a flow is
//! `FROM>TO:reno`, `FROM>TO:cubic`, or `FROM>TO:8M` for datagrams at a rate of payload.
#![allow(
    clippy::unwrap_used,
    reason = "a demonstration that cannot go on says where"
)]

use std::time::Duration;

use caudal_core::framing::Framing;
use caudal_core::units::parse_duration;
use caudal_simulate::run::run;
use caudal_simulate::scenario::{Flow, Pattern, Scenario, Traffic, UdpSource};
use caudal_simulate::tcp::{Congestion, TcpSettings};
use caudal_topology::{Topology, TopologyFile};

fn flow(word: &str) -> Flow {
    let (ends, kind) = word.split_once(':').unwrap();
    let (from, to) = ends.split_once('>').unwrap();
    let tcp = |congestion| {
        Traffic::tcp(TcpSettings {
            congestion,
            ..TcpSettings::default()
        })
    };
    let traffic = match kind {
        "reno" => tcp(Congestion::Reno),
        "cubic" => tcp(Congestion::Cubic),
        rate => Traffic::Udp(UdpSource {
            framing: Framing::default(),
            payload: 1472,
            pattern: Pattern::Constant(rate.parse().unwrap()),
        }),
    };
    Flow::between(from, to, traffic)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, seconds, seed, lateness, flows @ ..] = &words[..] else {
        eprintln!("usage: topology FILE SECONDS SEED LATENESS FROM>TO:reno|cubic|RATE...");
        return;
    };
    let file: TopologyFile = toml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let topology = Topology::resolve(&file).unwrap();
    let flows = flows.iter().map(|word| flow(word)).collect();
    let duration = Duration::from_secs_f64(seconds.parse().unwrap());
    let scenario = Scenario {
        seed: seed.parse().unwrap(),
        lateness: parse_duration(lateness).unwrap(),
        ..Scenario::of(flows, duration)
    };
    let outcome = run(&topology, &scenario).unwrap();
    println!("{}", serde_json::to_string_pretty(&outcome).unwrap());
}
