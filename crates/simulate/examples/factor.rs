//! Measures how much faster than real time flows are simulated, and the events per second.
//!
//! `cargo run --release -p caudal-simulate --example factor`
#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on says where"
)]

use std::time::{Duration, Instant};

use caudal_analysis::framing::Framing;
use caudal_core::units::BitRate;
use caudal_simulate::scenario::{Pattern, Scenario, SimFlow, Traffic, UdpSource};
use caudal_simulate::simulate;
use caudal_simulate::tcp::{CongestionControl, TcpSettings};
use caudal_topology::{Preset, Topology, TopologyFile};

fn topology(text: &str) -> Topology {
    let file: TopologyFile = toml::from_str(text).unwrap();
    Topology::resolve(&file).unwrap()
}

fn pair(keys: &str) -> Topology {
    topology(&format!(
        "host = [{{ name = \"h1\" }}, {{ name = \"h2\" }}]\nlink = [{{ between = [\"h1\", \"h2\"], {keys} }}]"
    ))
}

fn preset(name: &str) -> Topology {
    let file = Preset::by_name(name).unwrap().file(None).unwrap();
    Topology::resolve(&file).unwrap()
}

fn measure(name: &str, topology: &Topology, flows: Vec<SimFlow>, seconds: u64) {
    let scenario = Scenario::new(flows, Duration::from_secs(seconds));
    let start = Instant::now();
    let result = simulate(topology, &scenario).unwrap();
    let elapsed = start.elapsed().as_secs_f64();
    println!(
        "{name:<44} {:6.0} times real time, {:5.2} million events/s",
        seconds as f64 / elapsed,
        result.events as f64 / elapsed / 1e6,
    );
}

fn main() {
    let flow = |congestion| {
        let settings = TcpSettings {
            congestion,
            ..TcpSettings::default()
        };
        SimFlow::between("h1", "h2", Traffic::tcp(settings))
    };
    let (reno, cubic) = (
        flow(CongestionControl::Reno),
        flow(CongestionControl::Cubic),
    );
    let udp = Traffic::Udp(UdpSource {
        framing: Framing::default(),
        payload: 1472,
        pattern: Pattern::Constant(BitRate::from_bps(9_500_000)),
    });
    let slow = pair("rate = \"10M\", delay = \"10ms\"");
    measure("TCP over 10 Mbit/s, 20 ms, reno", &slow, vec![reno], 1000);
    let one = || vec![cubic.clone()];
    measure("TCP over 10 Mbit/s, 20 ms, cubic", &slow, one(), 1000);
    let udp = vec![SimFlow::between("h1", "h2", udp)];
    measure("UDP over 10 Mbit/s", &slow, udp, 1000);
    let star = preset("star");
    measure("TCP through a switch, 10 Mbit/s", &star, one(), 1000);
    let two = || {
        vec![
            cubic.clone(),
            SimFlow::between("h3", "h2", cubic.traffic.clone()),
        ]
    };
    measure(
        "two into one through a switch, 10 Mbit/s",
        &star,
        two(),
        1000,
    );
    let half = pair("rate = \"10M\", duplex = \"half\"");
    measure("TCP over 10 Mbit/s half duplex", &half, one(), 1000);
    let fast = pair("rate = \"1000M\", delay = \"1ms\"");
    measure("TCP over 1 Gbit/s, 2 ms", &fast, one(), 20);
}
