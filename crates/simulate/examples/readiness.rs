//! The readiness of hosts at half-duplex links that explains the published tables of study `goodput-duplex` best: simulates
//! their cases for a range of values, and prints for each how far goodput and collisions are from what was observed.
//!
//! `cargo run --release -p caudal-simulate --example readiness [CONSTANT RANDOM]`, in bit times; with a value, the table of
//! its cases.

use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::units::{BitRate, ByteCount};
use caudal_simulate::result::{FlowDetails, FlowResult, SimulationResult};
use caudal_simulate::scenario::{Pattern, Scenario, SimFlow, Traffic, UdpSource};
use caudal_simulate::simulate;
use caudal_simulate::tcp::TcpSettings;
use caudal_topology::{Topology, TopologyFile};

/// A published case: the duplex modes of h1, h2 and h3, the traffic, and what was observed.
struct Case {
    name: &'static str,
    half: [bool; 3],
    traffic: &'static [(&'static str, &'static str, Protocol)],
    goodput: &'static [f64],
    collisions: Option<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Protocol {
    Tcp,
    /// Datagrams at this rate, Mbit/s, without an end or 8000 of them.
    Udp(f64),
    UdpCount(f64),
}

use Protocol::{Tcp, Udp, UdpCount};

const ONE: &[(&str, &str, Protocol)] = &[("h1", "h2", Tcp)];
const TO_ONE: &[(&str, &str, Protocol)] = &[("h1", "h2", Tcp), ("h3", "h2", Tcp)];
const FROM_ONE: &[(&str, &str, Protocol)] = &[("h1", "h2", Tcp), ("h1", "h3", Tcp)];
const UDP_ONE: &[(&str, &str, Protocol)] = &[("h1", "h2", Udp(11.93))];
const UDP_TO_ONE: &[(&str, &str, Protocol)] = &[("h1", "h2", Udp(8.2)), ("h3", "h2", Udp(8.2))];
const UDP_FROM_ONE: &[(&str, &str, Protocol)] = &[("h1", "h2", Udp(8.2)), ("h1", "h3", Udp(8.2))];
const MIXED_TO_ONE: &[(&str, &str, Protocol)] = &[("h1", "h2", UdpCount(11.93)), ("h3", "h2", Tcp)];
const MIXED_FROM_ONE: &[(&str, &str, Protocol)] =
    &[("h1", "h2", UdpCount(11.93)), ("h1", "h3", Tcp)];

const H: bool = true;
const F: bool = false;

#[rustfmt::skip]
const CASES: [Case; 19] = [
    Case { name: "A", half: [F, F, F], traffic: ONE, goodput: &[9.4089], collisions: None },
    Case { name: "B1", half: [H, F, F], traffic: ONE, goodput: &[8.17], collisions: Some(0.0194) },
    Case { name: "B2", half: [F, H, F], traffic: ONE, goodput: &[6.94], collisions: Some(0.3103) },
    Case { name: "B3", half: [H, H, F], traffic: ONE, goodput: &[7.2], collisions: Some(0.2537) },
    Case { name: "F1", half: [F, F, H], traffic: TO_ONE, goodput: &[5.0], collisions: Some(0.024) },
    Case { name: "F2", half: [F, H, F], traffic: TO_ONE, goodput: &[4.4], collisions: Some(0.0106) },
    Case { name: "F3", half: [H, H, H], traffic: TO_ONE, goodput: &[3.55], collisions: Some(0.1072) },
    Case { name: "H1", half: [H, F, F], traffic: FROM_ONE, goodput: &[4.4], collisions: Some(0.0181) },
    Case { name: "H2", half: [F, H, H], traffic: FROM_ONE, goodput: &[4.7], collisions: Some(0.066) },
    Case { name: "H3", half: [H, H, H], traffic: FROM_ONE, goodput: &[4.4], collisions: Some(0.2245) },
    Case { name: "B1 UDP", half: [H, F, F], traffic: UDP_ONE, goodput: &[9.56], collisions: None },
    Case { name: "B3 UDP", half: [H, H, F], traffic: UDP_ONE, goodput: &[9.56], collisions: None },
    Case { name: "F2 UDP", half: [F, H, F], traffic: UDP_TO_ONE, goodput: &[4.8], collisions: None },
    Case { name: "H1 UDP", half: [H, F, F], traffic: UDP_FROM_ONE, goodput: &[4.7786], collisions: None },
    Case { name: "E mixed", half: [F, F, F], traffic: MIXED_TO_ONE, goodput: &[9.01, 5.3], collisions: None },
    Case { name: "F3 mixed", half: [H, H, H], traffic: MIXED_TO_ONE, goodput: &[7.25, 5.05], collisions: None },
    Case { name: "G mixed", half: [F, F, F], traffic: MIXED_FROM_ONE, goodput: &[4.87, 5.96], collisions: None },
    Case { name: "H3 mixed", half: [H, H, H], traffic: MIXED_FROM_ONE, goodput: &[8.81, 4.91], collisions: None },
    Case { name: "G", half: [F, F, F], traffic: FROM_ONE, goodput: &[4.75], collisions: None },
];

/// The goodput of each flow in Mbit/s, and the fraction of frames that collided.
struct Simulated {
    goodput: Vec<f64>,
    collisions: f64,
}

fn topology(case: &Case, constant: u32, random: u32, seed: u64) -> Topology {
    let mut text = format!("seed = {seed}\nswitch = [{{ name = \"s1\" }}]\n");
    for host in 1..=3 {
        text += &format!("[[host]]\nname = \"h{host}\"\n");
    }
    for (at, half) in case.half.iter().enumerate() {
        let host = at + 1;
        text += &format!(
            "[[link]]\nbetween = [\"h{host}\", \"s1\"]\nrate = \"10M\"\nqueue = {{ frames = 100 }}\n"
        );
        if *half {
            text += &format!(
                "duplex = \"half\"\nreadiness = {{ constant = {constant}, random = {random} }}\n"
            );
        }
    }
    let file: TopologyFile = toml::from_str(&text).expect("the text is a topology file");
    Topology::resolve(&file).expect("the topology is valid")
}

fn traffic(protocol: Protocol) -> Traffic {
    match protocol {
        Tcp => {
            let mut settings = TcpSettings::default();
            if let Some(window) = std::env::var("WINDOW").ok().and_then(|it| it.parse().ok()) {
                settings.receive_window = ByteCount::new(window);
            }
            Traffic::Tcp {
                settings,
                bytes: Some(ByteCount::new(11_680_000)),
            }
        }
        Udp(mbit) | UdpCount(mbit) => Traffic::Udp(UdpSource {
            framing: Framing::default(),
            payload: 1472,
            pattern: Pattern::Constant(BitRate::from_f64(mbit * 1e6).expect("a rate")),
        }),
    }
}

fn run(case: &Case, constant: u32, random: u32, seed: u64) -> Simulated {
    let topology = topology(case, constant, random, seed);
    let has_tcp = case.traffic.iter().any(|(_, _, protocol)| *protocol == Tcp);
    let flows = case
        .traffic
        .iter()
        .enumerate()
        .map(|(nth, (from, to, protocol))| {
            let flow = SimFlow::between(*from, *to, traffic(*protocol))
                .starting(Duration::from_millis(7 * nth as u64));
            match protocol {
                UdpCount(mbit) => flow.stopping(Duration::from_secs_f64(
                    8000.0 * 1472.0 * 8.0 / (mbit * 1e6),
                )),
                _ => flow,
            }
        });
    let duration = Duration::from_secs(if has_tcp { 60 } else { 10 });
    let mut scenario = Scenario::new(flows.collect(), duration);
    scenario.seed = seed;
    let result = simulate(&topology, &scenario).expect("the scenario is valid");
    Simulated {
        goodput: result.flows.iter().map(mbit).collect(),
        collisions: collided(&result),
    }
}

fn mbit(flow: &FlowResult) -> f64 {
    let _ = matches!(flow.details, FlowDetails::Tcp { .. });
    flow.goodput.map_or(0.0, |rate| rate.bps() as f64 / 1e6)
}

fn collided(result: &SimulationResult) -> f64 {
    let mut collided = 0;
    let mut frames = 0;
    for direction in result.links.iter().flat_map(|link| &link.directions) {
        if let Some(collisions) = direction.collisions {
            collided += collisions.single + collisions.multiple + collisions.excessive;
            frames += direction.counters.offered.frames;
        }
    }
    collided as f64 / frames.max(1) as f64
}

fn compare(case: &Case, constant: u32, random: u32) -> (f64, f64, Simulated) {
    const SEEDS: u64 = 2;
    let runs: Vec<Simulated> = (1..=SEEDS)
        .map(|seed| run(case, constant, random, seed))
        .collect();
    let flows = runs[0].goodput.len();
    let mean =
        |of: &dyn Fn(&Simulated) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let mut goodput: Vec<f64> = (0..flows)
        .map(|flow| mean(&|run| run.goodput[flow]))
        .collect();
    if case.goodput.len() == 1 {
        goodput = vec![goodput.iter().sum::<f64>() / flows as f64];
    }
    let collisions = mean(&|run| run.collisions);
    let error = case
        .goodput
        .iter()
        .zip(&goodput)
        .map(|(published, simulated)| (simulated / published).ln().abs());
    let goodput_error = error.sum::<f64>() / case.goodput.len() as f64;
    let collision_error = case
        .collisions
        .map_or(0.0, |published| (collisions - published).abs());
    (
        goodput_error,
        collision_error,
        Simulated {
            goodput,
            collisions,
        },
    )
}

fn main() {
    let values: Vec<u32> = std::env::args()
        .skip(1)
        .filter_map(|value| value.parse().ok())
        .collect();
    if let [constant, random] = values[..] {
        for case in &CASES {
            let (_, _, simulated) = compare(case, constant, random);
            println!(
                "{:9} published {:?} {:?}  simulated {:.3?} {:.4}",
                case.name, case.goodput, case.collisions, simulated.goodput, simulated.collisions
            );
        }
        return;
    }
    println!("constant random  goodput error  collision error  UDP error");
    for constant in [0, 60, 76, 86, 92, 97, 110, 160, 400] {
        for random in [0, 50, 100, 200, 500, 1000] {
            let (mut goodput, mut collisions, mut udp) = (0.0, 0.0, 0.0_f64);
            for case in &CASES[1..14] {
                let (rate, collided, _) = compare(case, constant, random);
                goodput += rate / 13.0;
                collisions += collided / 9.0;
                if case.name.ends_with("UDP") {
                    udp = udp.max(rate);
                }
            }
            println!(
                "{constant:8} {random:6}  {:12.1} %  {:14.1} %  {:8.2} %",
                100.0 * goodput,
                100.0 * collisions,
                100.0 * udp
            );
        }
    }
}
