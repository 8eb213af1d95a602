//! The simulation against what is known: framing, windows, loss, sharing, half duplex, echoes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use std::time::Duration;

use caudal_core::framing::{Framing, IpVersion};
use caudal_core::units::ByteCount;
use caudal_simulate::outcome::{Details, RttSummary};
use caudal_simulate::scenario::{EchoClient, EchoOver, Flow, Traffic};
use caudal_simulate::tcp::{Congestion, Greeting, TcpSettings};
use support::*;

/// How far `value` is from `expected`, as a part of it.
fn off(value: f64, expected: f64) -> f64 {
    value / expected - 1.0
}

fn assert_near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        off(value, expected).abs() <= tolerance,
        "{what}: {value} is not {expected} within {tolerance}"
    );
}

#[test]
fn tcp_fills_a_link_but_for_headers_preamble_and_gap() {
    let usual = Framing::default();
    let cases = [
        (usual, 1500, 0.9415),
        (
            Framing {
                timestamps: false,
                ..usual
            },
            1500,
            0.9493,
        ),
        (
            Framing {
                ip: IpVersion::V6,
                ..usual
            },
            1500,
            0.9285,
        ),
        (
            Framing {
                vlan: true,
                ..usual
            },
            1500,
            0.9390,
        ),
        (Framing { mtu: 9000, ..usual }, 9000, 0.9900),
    ];
    for (framing, mtu, efficiency) in cases {
        // A queue that holds the window loses nothing.
        let link = pair(&format!(
            "rate = \"10M\", mtu = {mtu}, queue = {{ frames = 1000 }}"
        ));
        for congestion in [Congestion::Reno, Congestion::Cubic] {
            let settings = TcpSettings {
                framing,
                receive_window: ByteCount::new(200_000),
                ..settings(congestion)
            };
            let flow = Flow::between("a", "b", Traffic::tcp(settings));
            let outcome = play(&link, vec![flow], 20.0);
            let goodput = settled(&outcome.flows[0], 2);
            assert_near(
                &format!("{framing:?} {congestion:?}"),
                goodput,
                10.0 * efficiency,
                0.0005,
            );
        }
    }
}

#[test]
fn a_smaller_mtu_on_the_way_makes_smaller_segments() {
    let framing = Framing {
        mtu: 9000,
        ..Framing::default()
    };
    let flow = Traffic::tcp(TcpSettings {
        framing,
        ..TcpSettings::default()
    });
    let outcome = play(
        &pair("rate = \"10M\""),
        vec![Flow::between("a", "b", flow)],
        10.0,
    );
    assert_near("goodput", settled(&outcome.flows[0], 2), 9.415, 0.0005);
}

#[test]
fn a_window_gives_its_size_a_round_trip() {
    let link = pair("rate = \"100M\", delay = \"25ms\"");
    // Even numbers of segments: the last of an odd one is acknowledged late.
    for segments in [10, 44, 180_u64] {
        let window = segments * 1448;
        let ways = [
            TcpSettings {
                receive_window: ByteCount::new(window),
                ..TcpSettings::default()
            },
            TcpSettings {
                send_window: ByteCount::new(window),
                ..TcpSettings::default()
            },
        ];
        for settings in ways {
            let flow = Flow::between("a", "b", Traffic::tcp(settings));
            let outcome = play(&link, vec![flow], 10.0);
            // But for the time a segment and its acknowledgement take, 0.13 ms of 50, and the millisecond for which
            // data is gathered into bursts.
            let goodput = settled(&outcome.flows[0], 1);
            assert_near("goodput", goodput, window as f64 * 8.0 / 50e3, 0.025);
            assert_eq!(counts(&outcome.flows[0]).retransmits, 0);
        }
    }
}

#[test]
fn a_window_of_a_few_segments_fills_a_line_without_delay() {
    // Whether their number is odd or even, whole or not, and whichever end it is that bounds them: what is held back for a
    // larger burst leaves once a third of the window is free, and the end of a block is acknowledged at once.
    let link = pair("rate = \"100M\"");
    for bytes in [4344, 5792, 8192, 13_032, 13_312, 14_480, 15_928, 26_624] {
        let (small, large) = (ByteCount::new(bytes), ByteCount::new(4 << 20));
        for (send_window, receive_window) in [(small, large), (large, small), (small, small)] {
            let settings = TcpSettings {
                send_window,
                receive_window,
                ..TcpSettings::default()
            };
            let flow = Flow::between("a", "b", Traffic::tcp(settings));
            let outcome = play(&link, vec![flow], 3.0);
            assert_near("goodput", settled(&outcome.flows[0], 1), 94.15, 0.01);
        }
    }
}

#[test]
fn a_short_transfer_takes_the_rounds_of_slow_start() {
    // 1 MB at 100 Mbit/s and 40 ms with ten segments first: a handshake, six rounds and the rest are 0.2875 s, and the
    // last byte is 20 ms on its way. Cardwell et al., "Modeling TCP latency", 2000.
    let link = pair("rate = \"100M\", delay = \"20ms\"");
    let bytes = Some(ByteCount::new(1_000_000));
    let settings = TcpSettings {
        greeting: Greeting::NONE,
        ..settings(Congestion::Reno)
    };
    let flow = Flow::between("a", "b", Traffic::Tcp { settings, bytes });
    let outcome = play(&link, vec![flow], 5.0);
    let flow = &outcome.flows[0];
    let seconds = flow.end.since(flow.start).as_secs_f64();
    assert_eq!(flow.received, ByteCount::new(1_000_000));
    assert!((0.2875..0.3175).contains(&seconds), "{seconds}");
}

#[test]
fn random_loss_holds_reno_where_mathis_and_others_say() {
    // 50 ms: Mathis with 1.22 and with delayed acknowledgements 0.87, in Mbit/s.
    let expected = [
        (0.01, 2.84, 2.01),
        (0.001, 8.97, 6.34),
        (0.0001, 28.4, 20.1),
    ];
    for (loss, most, least) in expected {
        let link = pair(&format!(
            "rate = \"1000M\", delay = \"25ms\", forward = {{ loss = {loss} }}"
        ));
        let outcome = play(&link, vec![Flow::between("a", "b", reno())], 300.0);
        let goodput = mbit(&outcome.flows[0]);
        assert!(
            (least * 0.9..most * 1.2).contains(&goodput),
            "{loss}: {goodput}"
        );
    }
}

#[test]
fn cubic_takes_what_reno_leaves_of_a_long_fat_path_and_is_its_equal_on_a_short_one() {
    let goodput = |link: &str, flow| {
        mbit(&play(&pair(link), vec![Flow::between("a", "b", flow)], 200.0).flows[0])
    };
    let long = "rate = \"1000M\", delay = \"50ms\", forward = { loss = 0.00003 }";
    assert!(goodput(long, cubic()) > 1.5 * goodput(long, reno()));
    let short = "rate = \"1000M\", delay = \"5ms\", forward = { loss = 0.001 }";
    assert_near(
        "short",
        goodput(short, cubic()),
        goodput(short, reno()),
        0.15,
    );
}

#[test]
fn equal_flows_share_fairly() {
    for (name, flow) in [("reno", reno()), ("cubic", cubic())] {
        let flows = vec![
            Flow::between("h1", "h2", flow.clone()),
            Flow::between("h3", "h2", flow.clone()).starting(Duration::from_millis(500)),
        ];
        let outcome = play(&star(FULL), flows, 120.0);
        let rates: Vec<f64> = outcome.flows.iter().map(|flow| settled(flow, 5)).collect();
        let sum: f64 = rates.iter().sum();
        let jain = sum * sum / (2.0 * rates.iter().map(|rate| rate * rate).sum::<f64>());
        assert_near(name, sum, 9.415, 0.01);
        assert!(jain > 0.97, "{name}: {rates:?}");
    }
}

#[test]
fn two_udp_flows_into_one_port_lose_what_is_too_much() {
    // 1 − 9.571/(r1 + r2).
    for (first, second, loss) in [(8.0, 8.0, 0.402), (8.0, 4.0, 0.202)] {
        let flows = vec![
            Flow::between("h1", "h2", udp(first)),
            Flow::between("h3", "h2", udp(second)),
        ];
        let outcome = play(&star(FULL), flows, 30.0);
        let sent: f64 = outcome.flows.iter().map(|flow| flow.sent.as_f64()).sum();
        let received: f64 = outcome
            .flows
            .iter()
            .map(|flow| flow.received.as_f64())
            .sum();
        // The queue of 100 frames is full at the end and was empty at the begin.
        assert_near("loss", 1.0 - received / sent, loss, 0.015);
    }
}

#[test]
fn tcp_gets_what_udp_leaves() {
    for (rate, left) in [(3.0, 6.46), (6.0, 3.51)] {
        for flow in [reno(), cubic()] {
            let flows = vec![
                Flow::between("h1", "h2", udp(rate)),
                Flow::between("h3", "h2", flow),
            ];
            let outcome = play(&star(FULL), flows, 60.0);
            let [datagrams, stream] = &outcome.flows[..] else {
                panic!()
            };
            // What UDP loses, about 2 %, TCP gains.
            let lost = lost(datagrams);
            assert!(lost < 0.05, "{lost}");
            assert_near(
                "left",
                mbit(stream),
                left + rate * lost * 1448.0 / 1472.0,
                0.01,
            );
        }
    }
}

#[test]
fn half_duplex_costs_a_collision_or_a_backoff_for_acknowledgements() {
    // Goodput over the rate by window in segments, one acknowledgement for two segments. The capture effect is worst
    // where the window is drained while the acknowledgements back off. Ramakrishnan and Yang, "The Ethernet capture
    // effect", 1994.
    let known = [(6, 0.87), (12, 0.78), (22, 0.68), (44, 0.69), (88, 0.79)];
    let hub = pair("rate = \"10M\", duplex = \"half\"");
    for (window, expected) in known {
        let outcome = play(&hub, vec![Flow::between("a", "b", windowed(window))], 60.0);
        assert_near(
            &format!("window {window}"),
            mbit(&outcome.flows[0]) / 10.0,
            expected,
            0.05,
        );
        let collisions = outcome.links[0].courses[0].collisions.unwrap();
        assert!(collisions.all > 1000, "{collisions:?}");
    }
}

#[test]
fn the_place_of_a_half_duplex_link_matters() {
    // Nothing delays the receiver's acknowledgement but the frame that follows at once: the worst place is there.
    let goodput = |duplex| {
        let outcome = play(
            &star(duplex),
            vec![Flow::between("h1", "h2", windowed(22))],
            60.0,
        );
        mbit(&outcome.flows[0])
    };
    let full = goodput(FULL);
    let at_sender = goodput(["half", "full", "full"]);
    let at_receiver = goodput(["full", "half", "full"]);
    assert_near("full duplex", full, 9.415, 0.01);
    assert!(at_receiver < at_sender && at_sender < 0.9 * full);
}

#[test]
fn udp_alone_collides_with_nothing() {
    let outcome = play(
        &star(["half"; 3]),
        vec![Flow::between("h1", "h2", udp(9.5))],
        10.0,
    );
    assert!(lost(&outcome.flows[0]) < 0.001);
    assert_near("goodput", mbit(&outcome.flows[0]), 9.5, 0.001);
}

/// The round trips of an echo from as many hosts to h2.
fn echo(over: EchoOver, message: u32, hosts: usize) -> RttSummary {
    let client = EchoClient {
        over,
        message,
        exchanges: Some(200),
        pause: Duration::ZERO,
    };
    let flows = ["h1", "h3"][..hosts]
        .iter()
        .map(|host| Flow::between(*host, "h2", Traffic::Echo(client)))
        .collect();
    let outcome = play(&star(FULL), flows, 60.0);
    let Details::Echo {
        exchanges,
        lost,
        rtt,
    } = &outcome.flows[0].details
    else {
        panic!()
    };
    assert_eq!((*exchanges, *lost), (200, 0));
    rtt.clone()
}

#[test]
fn an_echo_takes_its_frames_four_times() {
    // Store and forward: host, switch, switch, host; preamble to last bit, without the gap behind it.
    let udp = EchoOver::Udp(Framing::default());
    let tcp = EchoOver::Tcp(TcpSettings::default());
    for (over, message, headers) in [
        (udp, 1, 28),
        (udp, 100, 28),
        (udp, 1472, 28),
        (tcp, 100, 52),
        (tcp, 1448, 52),
    ] {
        let frame = (message + headers + 18_u32).max(64) + 8;
        let rtt = echo(over, message, 1);
        let expected = Duration::from_nanos(u64::from(4 * frame) * 800);
        assert_eq!(rtt.least(), Some(expected), "{over:?} {message}");
        // The first meets the handshake or the hosts' announcements.
        let mean = rtt.mean().unwrap().as_secs_f64();
        assert_near("mean", mean, expected.as_secs_f64(), 0.02);
    }
    // Two clients share the way to the server and back: at the worst one waits for the other.
    let [one, two] = [1, 2].map(|hosts| echo(udp, 1472, hosts).mean().unwrap());
    assert!(one < two && two < one.mul_f64(1.5), "{one:?} {two:?}");
}

#[test]
fn reordering_that_a_quarter_of_the_round_trip_covers_costs_little() {
    let link = pair(
        "rate = \"100M\", delay = \"20ms\", forward = { reorder = { share = 0.01, places = 3 } }",
    );
    let outcome = play(&link, vec![Flow::between("a", "b", cubic())], 30.0);
    let goodput = settled(&outcome.flows[0], 10);
    assert!(goodput > 90.0, "{goodput} {:?}", counts(&outcome.flows[0]));
}

#[test]
fn a_lost_tail_is_noticed_before_the_timeout() {
    let bytes = Some(ByteCount::new(14_480));
    let flow = Flow::between(
        "a",
        "b",
        Traffic::Tcp {
            settings: TcpSettings {
                greeting: Greeting::NONE,
                ..TcpSettings::default()
            },
            bytes,
        },
    );
    // Behind the announcement, the SYN and the handshake's end come the segments; the last of ten is lost.
    let link = pair("rate = \"100M\", delay = \"20ms\", forward = { lose = [12] }");
    let outcome = play(&link, vec![flow], 5.0);
    let counts = counts(&outcome.flows[0]);
    assert_eq!(
        (counts.retransmits, counts.timeouts, counts.probes),
        (1, 0, 1)
    );
}
