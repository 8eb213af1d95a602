//! What holds of every run: nothing appears or vanishes, the same input gives the same outcome, and every run ends.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use std::time::Duration;

use caudal_core::framing::{Framing, IpVersion};
use caudal_core::units::{BitRate, ByteCount};
use caudal_link::dice::Dice;
use caudal_simulate::error::SimulateError;
use caudal_simulate::outcome::{Details, Outcome};
use caudal_simulate::run::run;
use caudal_simulate::scenario::{
    EchoClient, EchoOver, Flow, Pattern, Scenario, Traffic, UdpSource,
};
use caudal_simulate::tcp::{Congestion, Greeting, TcpSettings};
use caudal_topology::{PRESETS, Topology, TopologyFile};
use support::*;

const RANDOM_SCENARIOS: u64 = 10_000;
/// Events of a random run at most, which makes most of them last a good part of their second.
const EVENTS: u64 = 2_000;

fn pick<T: Copy>(dice: &mut Dice, of: &[T]) -> T {
    of[dice.below(of.len() as u64) as usize]
}

/// What a link may be told, in the words of a topology file.
fn keys(dice: &mut Dice) -> String {
    let rate = pick(
        dice,
        &[
            "",
            "rate = \"64k\",",
            "rate = \"1M\",",
            "rate = \"10M\",",
            "rate = \"100M\",",
        ],
    );
    let delay = pick(
        dice,
        &[
            "",
            "delay = \"1us\",",
            "delay = \"5ms\",",
            "delay = \"300ms\",",
        ],
    );
    let queue = pick(
        dice,
        &[
            "",
            "queue = { frames = 1 },",
            "queue = { frames = 3 },",
            "queue = { bytes = \"20k\" },",
        ],
    );
    let queue = if rate.is_empty() { "" } else { queue };
    let duplex = pick(dice, &["", "duplex = \"half\",", "duplex = \"half-full\","]);
    let half = !duplex.is_empty();
    let (rate, duplex) = if half {
        ("rate = \"10M\",", duplex)
    } else {
        (rate, duplex)
    };
    let queue = if half { "" } else { queue };
    let loss = pick(
        dice,
        &[
            "",
            "loss = 0.001,",
            "loss = 0.3,",
            "lose = [0, 1, 2, 3, 4],",
        ],
    );
    let harm = pick(
        dice,
        &[
            "",
            "duplicate = 0.1,",
            "reorder = { share = 0.2, places = 4 },",
            "corrupt_silently = 0.05,",
            "corrupt = 0.05,",
            "forward = { loss = 1.0 },",
        ],
    );
    let mtu = pick(dice, &["", "", "mtu = 576", "mtu = 1280", "mtu = 9000"]);
    format!("{rate} {delay} {queue} {duplex} {loss} {harm} {mtu}")
        .trim_end()
        .trim_end_matches(',')
        .to_owned()
}

fn random_topology(dice: &mut Dice) -> Option<Topology> {
    let file: TopologyFile = if dice.below(3) == 0 {
        PRESETS[dice.below(PRESETS.len() as u64) as usize]
            .file(None)
            .unwrap()
    } else {
        let middle = pick(dice, &["switch", "router", "hub"]);
        let links: Vec<String> = ["a", "b", "c"]
            .iter()
            .map(|host| {
                let keys = if middle == "hub" {
                    String::new()
                } else {
                    keys(dice)
                };
                format!("{{ between = [\"{host}\", \"m\"], {keys} }}")
                    .replace(", }", " }")
                    .replace(",  }", " }")
            })
            .collect();
        let text = format!(
            "seed = {}\nhost = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" }}]\n{middle} = [{{ name = \"m\" }}]\nlink = [{}]",
            dice.below(1 << 40),
            links.join(", ")
        );
        toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    // Not every mixture of keys can be built; those that cannot are told so.
    Topology::resolve(&file).ok()
}

fn random_framing(dice: &mut Dice) -> Framing {
    Framing {
        mtu: pick(dice, &[1500, 1500, 576, 9000]),
        ip: pick(dice, &[IpVersion::V4, IpVersion::V6]),
        vlan: dice.below(4) == 0,
        timestamps: dice.below(4) > 0,
        ..Framing::default()
    }
}

fn random_settings(dice: &mut Dice) -> TcpSettings {
    let window = |dice: &mut Dice| {
        ByteCount::new(pick(
            dice,
            &[1, 500, 1448, 10_000, 100_000, 4 << 20, u64::MAX],
        ))
    };
    TcpSettings {
        framing: random_framing(dice),
        congestion: pick(dice, &[Congestion::Reno, Congestion::Cubic]),
        send_window: window(dice),
        receive_window: window(dice),
        greeting: pick(dice, &[Greeting::NONE, Greeting::CAUDAL, Greeting::IPERF3]),
    }
}

fn random_traffic(dice: &mut Dice) -> Traffic {
    let rate = BitRate::from_bps(pick(dice, &[1, 10_000, 1_000_000, 20_000_000, u64::MAX]));
    match dice.below(5) {
        0 | 1 => Traffic::Tcp {
            settings: random_settings(dice),
            bytes: pick(
                dice,
                &[None, Some(0), Some(1), Some(100_000), Some(u64::MAX)],
            )
            .map(ByteCount::new),
        },
        2 | 3 => Traffic::Udp(UdpSource {
            framing: random_framing(dice),
            payload: pick(dice, &[1, 100, 1472, 1473, 65_507]),
            pattern: match dice.below(3) {
                0 => Pattern::Constant(rate),
                1 => Pattern::Poisson(rate),
                _ => Pattern::OnOff {
                    rate,
                    on: Duration::from_micros(dice.below(100_000)),
                    off: Duration::from_micros(dice.below(100_000)),
                },
            },
        }),
        _ => Traffic::Echo(EchoClient {
            over: match dice.below(2) {
                0 => EchoOver::Udp(random_framing(dice)),
                _ => EchoOver::Tcp(random_settings(dice)),
            },
            message: pick(dice, &[1, 1000, 10_000]),
            exchanges: pick(dice, &[None, Some(0), Some(3)]),
            pause: Duration::from_micros(dice.below(3) * 10_000),
        }),
    }
}

fn random_scenario(topology: &Topology, dice: &mut Dice) -> Scenario {
    let hosts: Vec<&str> = topology
        .nodes
        .iter()
        .filter(|node| node.has_addresses())
        .map(|node| node.name.as_str())
        .collect();
    let mut flows = Vec::new();
    for _ in 0..1 + dice.below(3) {
        let from = dice.below(hosts.len() as u64);
        let to = (from + 1 + dice.below(hosts.len() as u64 - 1)) % hosts.len() as u64;
        let start = Duration::from_micros(dice.below(4) * 1000);
        let flow = Flow::between(
            hosts[from as usize],
            hosts[to as usize],
            random_traffic(dice),
        )
        .starting(start);
        flows.push(match dice.below(4) {
            0 => flow.stopping(Duration::from_micros(dice.below(500_000))),
            _ => flow,
        });
    }
    Scenario {
        interval: Duration::from_millis(100),
        seed: 7,
        lateness: Duration::from_micros(dice.below(3) * 50),
        event_limit: EVENTS,
        flows,
        duration: Duration::from_millis(1 + dice.below(3000)),
    }
}

/// Whether everything that went in is accounted for.
fn assert_conserved(outcome: &Outcome, seed: u64) {
    for link in &outcome.links {
        for course in &link.courses {
            let counters = &course.counters;
            assert!(
                counters.balance(course.held),
                "{seed}: {} {counters:?} {:?}",
                link.name,
                course.held
            );
        }
    }
    for flow in &outcome.flows {
        assert!(flow.received <= flow.sent, "{seed}: {flow:?}");
        let in_intervals: ByteCount = flow.intervals.iter().map(|interval| interval.bytes).sum();
        assert_eq!(in_intervals, flow.received, "{seed}");
        match &flow.details {
            Details::Tcp { counts, cwnd, .. } => {
                assert!(counts.retransmits <= counts.segments, "{seed}: {counts:?}");
                assert!(
                    counts.delivered <= counts.segments - counts.retransmits,
                    "{seed}: {counts:?}"
                );
                assert!(cwnd.course().len() <= 256, "{seed}");
            }
            Details::Udp { counts, .. } => {
                assert_eq!(
                    counts.received + counts.lost + counts.late,
                    counts.expected,
                    "{seed}"
                );
            }
            Details::Echo {
                exchanges, lost, ..
            } => {
                assert!(exchanges + lost <= 1 + flow.sent.get(), "{seed}");
            }
        }
    }
}

#[test]
fn ten_thousand_random_scenarios_end_without_a_frame_unaccounted_for() {
    let (mut ran, mut received, mut cut_short) = (0, 0, 0);
    for seed in 0..RANDOM_SCENARIOS {
        let mut dice = Dice::new(seed, 0);
        let topology = loop {
            if let Some(topology) = random_topology(&mut dice) {
                break topology;
            }
        };
        let scenario = random_scenario(&topology, &mut dice);
        match run(&topology, &scenario) {
            Ok(outcome) => {
                ran += 1;
                cut_short += u64::from(outcome.cut_short);
                received += outcome
                    .flows
                    .iter()
                    .filter(|flow| flow.received.get() > 0)
                    .count();
                // A burst of one moment may go beyond the limit, by what one event sets off.
                assert!(outcome.events < 100 * EVENTS, "{seed}: {}", outcome.events);
                assert_conserved(&outcome, seed);
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
fn the_same_seed_gives_the_same_run_to_the_last_bit_and_another_another() {
    for seed in 0..50 {
        let mut dice = Dice::new(seed, 1);
        let Some(topology) = random_topology(&mut dice) else {
            continue;
        };
        let scenario = random_scenario(&topology, &mut dice);
        let (one, other) = (run(&topology, &scenario), run(&topology, &scenario));
        assert_eq!(one, other, "{seed}");
    }
    let link = pair("rate = \"10M\", delay = \"5ms\"");
    let poisson = Traffic::Udp(UdpSource {
        framing: Framing::default(),
        payload: 1000,
        pattern: Pattern::Poisson(BitRate::from_bps(5_000_000)),
    });
    let outcome = |seed| {
        let scenario = Scenario::of(
            vec![Flow::between("a", "b", poisson.clone())],
            Duration::from_secs(5),
        );
        run(&link, &Scenario { seed, ..scenario }).unwrap()
    };
    assert_ne!(outcome(1).flows, outcome(2).flows);
}

#[test]
fn what_is_written_of_a_run_is_the_same_every_time() {
    // The outcome of one run, so that a change of the model is noticed; the numbers themselves mean nothing.
    let link = pair(
        "rate = \"10M\", delay = \"10ms\", queue = { frames = 20 }, forward = { loss = 0.001 }",
    );
    let flows = vec![
        Flow::between("a", "b", cubic()),
        Flow::between("a", "b", reno()),
    ];
    let outcome = play(&link, flows, 10.0);
    let written = serde_json::to_string(&outcome).unwrap();
    assert_eq!(
        serde_json::to_string(&play(
            &link,
            vec![
                Flow::between("a", "b", cubic()),
                Flow::between("a", "b", reno())
            ],
            10.0
        ))
        .unwrap(),
        written
    );
    assert!(written.contains("\"retransmits\"") && written.contains("\"queue\""));
}

#[test]
fn a_link_without_rate_or_delay_does_not_keep_a_run_for_ever() {
    let link = pair("mtu = 1500");
    for traffic in [
        cubic(),
        udp(9e12),
        Traffic::Echo(EchoClient {
            over: EchoOver::Udp(Framing::default()),
            message: 1,
            exchanges: None,
            pause: Duration::ZERO,
        }),
    ] {
        let scenario = Scenario {
            event_limit: 100_000,
            ..Scenario::of(
                vec![Flow::between("a", "b", traffic)],
                Duration::from_secs(1),
            )
        };
        let outcome = run(&link, &scenario).unwrap();
        assert!(outcome.cut_short && outcome.events < 200_000);
    }
}

#[test]
fn more_loss_never_gives_more() {
    for (name, flow) in [("reno", reno()), ("cubic", cubic())] {
        let mut before = f64::INFINITY;
        for loss in [0.0, 0.001, 0.004, 0.016, 0.064, 0.256] {
            let mean = (0..5)
                .map(|seed| {
                    let link = topology(&format!(
                        "seed = {seed}\nhost = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"], rate = \"100M\", delay = \"10ms\", loss = {loss} }}]"
                    ));
                    mbit(&play(&link, vec![Flow::between("a", "b", flow.clone())], 20.0).flows[0])
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
fn goodput_never_exceeds_the_links_ceiling() {
    for seed in 0..100 {
        let mut dice = Dice::new(seed, 2);
        let mbit = 1 + dice.below(50);
        let framing = Framing {
            mtu: 1500,
            ..random_framing(&mut dice)
        };
        let settings = TcpSettings {
            framing,
            ..random_settings(&mut dice)
        };
        let settings = TcpSettings {
            framing,
            ..settings
        };
        let link = pair(&format!(
            "rate = \"{mbit}M\", delay = \"{}us\"",
            dice.below(20_000)
        ));
        let outcome = play(
            &link,
            vec![Flow::between("a", "b", Traffic::tcp(settings))],
            2.0,
        );
        let ceiling = framing.tcp_ceiling(BitRate::from_bps(mbit * 1_000_000));
        assert!(outcome.flows[0].goodput.unwrap() <= ceiling, "{seed}");
    }
}

#[test]
fn what_cannot_be_run_is_refused_in_a_line_that_says_what_to_do() {
    let link = pair("rate = \"10M\"");
    let refused = |scenario: &Scenario| run(&link, scenario).unwrap_err().to_string();
    let with = |flow| Scenario::of(vec![flow], Duration::from_secs(1));
    let silent = Traffic::Udp(UdpSource {
        framing: Framing::default(),
        payload: 100,
        pattern: Pattern::Constant(BitRate::ZERO),
    });
    let nothing = Traffic::Echo(EchoClient {
        over: EchoOver::Tcp(TcpSettings::default()),
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
        refused(&with(Flow::between("a", "z", cubic()))),
        refused(&with(Flow::between("a", "a", cubic()))),
        refused(&with(Flow::between("a", "b", silent))),
        refused(&with(Flow::between("a", "b", nothing))),
        refused(&with(Flow::between("a", "b", cramped))),
        refused(&Scenario::of(Vec::new(), Duration::ZERO)),
        refused(&Scenario::of(
            vec![Flow::between("a", "b", cubic()); 10_001],
            Duration::from_secs(1),
        )),
    ];
    for message in messages {
        assert!(!message.contains('\n') && message.len() > 20, "{message}");
    }
}
