//! Invariants of all simulations: frames are conserved, the same input gives the same result, and every simulation ends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use std::time::Duration;

use caudal_analysis::framing::{Framing, IpVersion};
use caudal_core::units::{BitRate, ByteCount};
use caudal_link::random::Rng;
use caudal_simulate::error::SimulateError;
use caudal_simulate::result::{FlowDetails, SimulationResult};
use caudal_simulate::scenario::{
    EchoClient, EchoTransport, Pattern, Scenario, SimFlow, Traffic, UdpSource,
};
use caudal_simulate::simulate;
use caudal_simulate::tcp::{ApplicationHandshake, CongestionControl, TcpSettings};
use caudal_topology::{PRESETS, Topology, TopologyFile};
use support::*;

const RANDOM_SCENARIOS: u64 = 10_000;
/// The limit of events of a random simulation, which most reach after a good part of their duration.
const MAX_EVENTS: u64 = 2_000;

fn pick<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

/// Random keys of a link in a topology file.
fn keys(rng: &mut Rng) -> String {
    let rate = pick(
        rng,
        &[
            "",
            "rate = \"64k\",",
            "rate = \"1M\",",
            "rate = \"10M\",",
            "rate = \"100M\",",
        ],
    );
    let delay = pick(
        rng,
        &[
            "",
            "delay = \"1us\",",
            "delay = \"5ms\",",
            "delay = \"300ms\",",
        ],
    );
    let queue = pick(
        rng,
        &[
            "",
            "queue = { frames = 1 },",
            "queue = { frames = 3 },",
            "queue = { bytes = \"20k\" },",
        ],
    );
    let queue = if rate.is_empty() { "" } else { queue };
    let duplex = pick(rng, &["", "duplex = \"half\",", "duplex = \"half-full\","]);
    let half = !duplex.is_empty();
    let (rate, duplex) = if half {
        ("rate = \"10M\",", duplex)
    } else {
        (rate, duplex)
    };
    let queue = if half { "" } else { queue };
    let loss = pick(
        rng,
        &[
            "",
            "loss = 0.001,",
            "loss = 0.3,",
            "lose = [0, 1, 2, 3, 4],",
        ],
    );
    let damage = pick(
        rng,
        &[
            "",
            "duplicate = 0.1,",
            "reorder = { share = 0.2, places = 4 },",
            "corrupt_silently = 0.05,",
            "corrupt = 0.05,",
            "forward = { loss = \"100%\" },",
        ],
    );
    let mtu = pick(rng, &["", "", "mtu = 576", "mtu = 1280", "mtu = 9000"]);
    format!("{rate} {delay} {queue} {duplex} {loss} {damage} {mtu}")
        .trim_end()
        .trim_end_matches(',')
        .to_owned()
}

fn random_topology(rng: &mut Rng) -> Option<Topology> {
    let file: TopologyFile = if rng.below(3) == 0 {
        PRESETS[rng.below(PRESETS.len() as u64) as usize]
            .file(None)
            .unwrap()
    } else {
        let middle = pick(rng, &["switch", "router", "hub"]);
        let links: Vec<String> = ["a", "b", "c"]
            .iter()
            .map(|host| {
                let keys = if middle == "hub" {
                    String::new()
                } else {
                    keys(rng)
                };
                format!("{{ between = [\"{host}\", \"m\"], {keys} }}")
                    .replace(", }", " }")
                    .replace(",  }", " }")
            })
            .collect();
        let text = format!(
            "seed = {}\nhost = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" }}]\n{middle} = [{{ name = \"m\" }}]\nlink = [{}]",
            rng.below(1 << 40),
            links.join(", ")
        );
        toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    // Some combinations of keys cannot be built, and are refused.
    Topology::resolve(&file).ok()
}

fn random_framing(rng: &mut Rng) -> Framing {
    Framing {
        mtu: pick(rng, &[1500, 1500, 576, 9000]),
        ip: pick(rng, &[IpVersion::V4, IpVersion::V6]),
        vlan: rng.below(4) == 0,
        timestamps: rng.below(4) > 0,
        ..Framing::default()
    }
}

fn random_settings(rng: &mut Rng) -> TcpSettings {
    let window = |rng: &mut Rng| {
        ByteCount::new(pick(
            rng,
            &[1, 500, 1448, 10_000, 100_000, 4 << 20, u64::MAX],
        ))
    };
    TcpSettings {
        framing: random_framing(rng),
        congestion: pick(rng, &[CongestionControl::Reno, CongestionControl::Cubic]),
        send_window: window(rng),
        receive_window: window(rng),
        handshake: pick(
            rng,
            &[
                ApplicationHandshake::NONE,
                ApplicationHandshake::CAUDAL,
                ApplicationHandshake::IPERF3,
            ],
        ),
    }
}

fn random_traffic(rng: &mut Rng) -> Traffic {
    let rate = BitRate::from_bps(pick(rng, &[1, 10_000, 1_000_000, 20_000_000, u64::MAX]));
    match rng.below(5) {
        0 | 1 => Traffic::Tcp {
            settings: random_settings(rng),
            bytes: pick(
                rng,
                &[None, Some(0), Some(1), Some(100_000), Some(u64::MAX)],
            )
            .map(ByteCount::new),
        },
        2 | 3 => Traffic::Udp(UdpSource {
            framing: random_framing(rng),
            payload: pick(rng, &[1, 100, 1472, 1473, 65_507]),
            pattern: match rng.below(3) {
                0 => Pattern::Constant(rate),
                1 => Pattern::Poisson(rate),
                _ => Pattern::OnOff {
                    rate,
                    on: Duration::from_micros(rng.below(100_000)),
                    off: Duration::from_micros(rng.below(100_000)),
                },
            },
        }),
        _ => Traffic::Echo(EchoClient {
            transport: match rng.below(2) {
                0 => EchoTransport::Udp(random_framing(rng)),
                _ => EchoTransport::Tcp(random_settings(rng)),
            },
            message: pick(rng, &[1, 1000, 10_000]),
            exchanges: pick(rng, &[None, Some(0), Some(3)]),
            pause: Duration::from_micros(rng.below(3) * 10_000),
        }),
    }
}

fn random_scenario(topology: &Topology, rng: &mut Rng) -> Scenario {
    let hosts: Vec<&str> = topology
        .nodes
        .iter()
        .filter(|node| node.has_addresses())
        .map(|node| node.name.as_str())
        .collect();
    let mut flows = Vec::new();
    for _ in 0..1 + rng.below(3) {
        let from = rng.below(hosts.len() as u64);
        let to = (from + 1 + rng.below(hosts.len() as u64 - 1)) % hosts.len() as u64;
        let start = Duration::from_micros(rng.below(4) * 1000);
        let flow = SimFlow::between(
            hosts[from as usize],
            hosts[to as usize],
            random_traffic(rng),
        )
        .starting(start);
        flows.push(match rng.below(4) {
            0 => flow.stopping(Duration::from_micros(rng.below(500_000))),
            _ => flow,
        });
    }
    Scenario {
        interval: Duration::from_millis(100),
        seed: 7,
        host_jitter: Duration::from_micros(rng.below(3) * 50),
        event_limit: MAX_EVENTS,
        flows,
        duration: Duration::from_millis(1 + rng.below(3000)),
    }
}

/// Checks that every frame and byte is accounted for.
fn assert_conserved(result: &SimulationResult, seed: u64) {
    for link in &result.links {
        for direction in &link.directions {
            let counters = &direction.counters;
            assert!(
                counters.is_balanced(direction.held),
                "{seed}: {} {counters:?} {:?}",
                link.name,
                direction.held
            );
        }
    }
    for flow in &result.flows {
        assert!(flow.received <= flow.sent, "{seed}: {flow:?}");
        let in_intervals: ByteCount = flow.intervals.iter().map(|interval| interval.bytes).sum();
        assert_eq!(in_intervals, flow.received, "{seed}");
        match &flow.details {
            FlowDetails::Tcp { counts, cwnd, .. } => {
                assert!(counts.retransmits <= counts.segments, "{seed}: {counts:?}");
                assert!(
                    counts.delivered <= counts.segments - counts.retransmits,
                    "{seed}: {counts:?}"
                );
                assert!(cwnd.series.len() <= 256, "{seed}");
            }
            FlowDetails::Udp { counts, .. } => {
                assert_eq!(
                    counts.received + counts.lost + counts.late,
                    counts.expected,
                    "{seed}"
                );
            }
            FlowDetails::Echo {
                exchanges, lost, ..
            } => {
                assert!(exchanges + lost <= 1 + flow.sent.get(), "{seed}");
            }
        }
    }
}

#[test]
fn ten_thousand_random_scenarios_end_with_every_frame_accounted_for() {
    let (mut ran, mut received, mut cut_short) = (0, 0, 0);
    for seed in 0..RANDOM_SCENARIOS {
        let mut rng = Rng::new(seed, 0);
        let topology = loop {
            if let Some(topology) = random_topology(&mut rng) {
                break topology;
            }
        };
        let scenario = random_scenario(&topology, &mut rng);
        match simulate(&topology, &scenario) {
            Ok(result) => {
                ran += 1;
                cut_short += u64::from(result.cut_short);
                received += result
                    .flows
                    .iter()
                    .filter(|flow| flow.received.get() > 0)
                    .count();
                // Simultaneous events may exceed the limit by those that one event causes.
                assert!(
                    result.events < 100 * MAX_EVENTS,
                    "{seed}: {}",
                    result.events
                );
                assert_conserved(&result, seed);
            }
            Err(SimulateError::NoRoom { .. }) => {}
            Err(error) => panic!("{seed}: {error}"),
        }
    }
    assert!(
        ran > 9_000 && received > 5_000 && cut_short > 100,
        "{ran} {received} {cut_short}"
    );
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_seed_another() {
    for seed in 0..50 {
        let mut rng = Rng::new(seed, 1);
        let Some(topology) = random_topology(&mut rng) else {
            continue;
        };
        let scenario = random_scenario(&topology, &mut rng);
        let (one, other) = (
            simulate(&topology, &scenario),
            simulate(&topology, &scenario),
        );
        assert_eq!(one, other, "{seed}");
    }
    let link = pair("rate = \"10M\", delay = \"5ms\"");
    let poisson = Traffic::Udp(UdpSource {
        framing: Framing::default(),
        payload: 1000,
        pattern: Pattern::Poisson(BitRate::from_bps(5_000_000)),
    });
    let result = |seed| {
        let scenario = Scenario::new(
            vec![SimFlow::between("a", "b", poisson.clone())],
            Duration::from_secs(5),
        );
        simulate(&link, &Scenario { seed, ..scenario }).unwrap()
    };
    assert_ne!(result(1).flows, result(2).flows);
}

#[test]
fn the_serialized_result_is_the_same_every_time() {
    let link = pair(
        "rate = \"10M\", delay = \"10ms\", queue = { frames = 20 }, forward = { loss = 0.001 }",
    );
    let flows = vec![
        SimFlow::between("a", "b", cubic()),
        SimFlow::between("a", "b", reno()),
    ];
    let result = run(&link, flows, 10.0);
    let written = serde_json::to_string(&result).unwrap();
    assert_eq!(
        serde_json::to_string(&run(
            &link,
            vec![
                SimFlow::between("a", "b", cubic()),
                SimFlow::between("a", "b", reno())
            ],
            10.0
        ))
        .unwrap(),
        written
    );
    assert!(written.contains("\"retransmits\"") && written.contains("\"queue\""));
}

#[test]
fn a_simulation_over_a_link_without_rate_and_delay_ends_at_the_event_limit() {
    let link = pair("mtu = 1500");
    for traffic in [
        cubic(),
        udp(9e12),
        Traffic::Echo(EchoClient {
            transport: EchoTransport::Udp(Framing::default()),
            message: 1,
            exchanges: None,
            pause: Duration::ZERO,
        }),
    ] {
        let scenario = Scenario {
            event_limit: 100_000,
            ..Scenario::new(
                vec![SimFlow::between("a", "b", traffic)],
                Duration::from_secs(1),
            )
        };
        let result = simulate(&link, &scenario).unwrap();
        assert!(result.cut_short && result.events < 200_000);
    }
}

#[test]
fn more_loss_never_gives_more_goodput() {
    for (name, flow) in [("reno", reno()), ("cubic", cubic())] {
        let mut before = f64::INFINITY;
        for loss in [0.0, 0.001, 0.004, 0.016, 0.064, 0.256] {
            let mean = (0..5)
                .map(|seed| {
                    let link = topology(&format!(
                        "seed = {seed}\nhost = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"], rate = \"100M\", delay = \"10ms\", loss = {loss} }}]"
                    ));
                    mbit(&run(&link, vec![SimFlow::between("a", "b", flow.clone())], 20.0).flows[0])
                })
                .sum::<f64>()
                / 5.0;
            assert!(mean < before, "{name} {loss}: {mean} after {before}");
            before = mean;
        }
        assert!(before < 0.5, "{name}: {before}");
    }
}

#[test]
fn goodput_never_exceeds_the_ceiling_of_the_link() {
    for seed in 0..100 {
        let mut rng = Rng::new(seed, 2);
        let mbit = 1 + rng.below(50);
        let framing = Framing {
            mtu: 1500,
            ..random_framing(&mut rng)
        };
        let settings = TcpSettings {
            framing,
            ..random_settings(&mut rng)
        };
        let settings = TcpSettings {
            framing,
            ..settings
        };
        // Every other link loses frames, at random and where its queue overflows.
        let lossy = match seed % 2 {
            0 => String::new(),
            _ => format!(
                ", loss = 0.0{}, queue = {{ frames = {} }}",
                1 + rng.below(9),
                5 + rng.below(50)
            ),
        };
        let link = pair(&format!(
            "rate = \"{mbit}M\", delay = \"{}us\"{lossy}",
            rng.below(20_000)
        ));
        let result = run(
            &link,
            vec![SimFlow::between("a", "b", Traffic::tcp(settings))],
            2.0,
        );
        let ceiling = framing.tcp_ceiling(BitRate::from_bps(mbit * 1_000_000));
        assert!(result.flows[0].goodput.unwrap() <= ceiling, "{seed}");
        for interval in &result.flows[0].intervals {
            // The border of an interval counts a segment whole.
            let length = interval.end.since(interval.start);
            let segment = ByteCount::new(1500).per(length);
            let max = ceiling.as_f64() + segment.map_or(0.0, BitRate::as_f64);
            assert!(
                interval.goodput.as_f64() <= max,
                "{seed}: {interval:?} of {ceiling}"
            );
        }
    }
}

#[test]
fn invalid_scenarios_are_refused_with_a_remedy_in_one_line() {
    let link = pair("rate = \"10M\"");
    let refused = |scenario: &Scenario| simulate(&link, scenario).unwrap_err().to_string();
    let with = |flow| Scenario::new(vec![flow], Duration::from_secs(1));
    let silent = Traffic::Udp(UdpSource {
        framing: Framing::default(),
        payload: 100,
        pattern: Pattern::Constant(BitRate::ZERO),
    });
    let nothing = Traffic::Echo(EchoClient {
        transport: EchoTransport::Tcp(TcpSettings::default()),
        message: 0,
        exchanges: None,
        pause: Duration::ZERO,
    });
    let cramped = Traffic::tcp(TcpSettings {
        framing: Framing {
            mtu: 40,
            ..Framing::default()
        },
        ..TcpSettings::default()
    });
    let messages = [
        refused(&with(SimFlow::between("a", "z", cubic()))),
        refused(&with(SimFlow::between("a", "a", cubic()))),
        refused(&with(SimFlow::between("a", "b", silent))),
        refused(&with(SimFlow::between("a", "b", nothing))),
        refused(&with(SimFlow::between("a", "b", cramped))),
        refused(&Scenario::new(Vec::new(), Duration::ZERO)),
        refused(&Scenario::new(
            vec![SimFlow::between("a", "b", cubic()); 10_001],
            Duration::from_secs(1),
        )),
    ];
    for message in messages {
        assert!(!message.contains('\n') && message.len() > 20, "{message}");
    }
}
