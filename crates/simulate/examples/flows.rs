//! Runs TCP flows between two hosts and prints what came of them.
//!
//! `cargo run --release -p caudal-simulate --example flows -- LINK-KEYS SECONDS CONGESTION...`
#![allow(
    clippy::unwrap_used,
    reason = "a demonstration that cannot go on says where"
)]

use std::time::{Duration, Instant};

use caudal_core::topology::{Topology, TopologyFile};
use caudal_simulate::outcome::Details;
use caudal_simulate::run::run;
use caudal_simulate::scenario::{Flow, Scenario, Traffic};
use caudal_simulate::tcp::{Congestion, TcpSettings};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [keys, seconds, congestion @ ..] = &args[..] else {
        eprintln!("usage: flows LINK-KEYS SECONDS CONGESTION...");
        return;
    };
    let text = format!(
        "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"], {keys} }}]"
    );
    let file: TopologyFile = toml::from_str(&text).unwrap();
    let topology = Topology::resolve(&file).unwrap();
    let flow = |name: &String| {
        let congestion = match name.as_str() {
            "reno" => Congestion::Reno,
            _ => Congestion::Cubic,
        };
        let settings = TcpSettings {
            congestion,
            ..TcpSettings::default()
        };
        Flow::between("a", "b", Traffic::tcp(settings))
    };
    let flows = congestion.iter().map(flow).collect();
    let duration = Duration::from_secs_f64(seconds.parse().unwrap());
    let began = Instant::now();
    let outcome = run(&topology, &Scenario::of(flows, duration)).unwrap();
    let took = began.elapsed();
    for flow in &outcome.flows {
        let Details::Tcp { counts, rtt, cwnd } = &flow.details else {
            continue;
        };
        println!(
            "{} -> {}: {:?} Mbit/s, {counts:?}, rtt mean {:?} max {:?}, cwnd mean {:?} most {}",
            flow.from,
            flow.to,
            flow.goodput.map(|rate| rate.as_f64() / 1e6),
            rtt.mean(),
            rtt.most(),
            cwnd.mean(),
            cwnd.most(),
        );
        if std::env::var_os("COURSE").is_some() {
            println!("{:?}", cwnd.course());
        }
    }
    println!(
        "{} events in {took:?}: {:.2} M/s, {:.0} times real time",
        outcome.events,
        outcome.events as f64 / took.as_secs_f64() / 1e6,
        duration.as_secs_f64() / took.as_secs_f64()
    );
}
