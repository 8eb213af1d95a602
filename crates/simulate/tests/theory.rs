//! The simulation against theory: framing, windows, loss, sharing, half duplex, echoes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use std::time::Duration;

use caudal_analysis::framing::{Framing, IpVersion};
use caudal_core::units::ByteCount;
use caudal_simulate::result::{DelayStatistics, FlowDetails};
use caudal_simulate::scenario::{EchoClient, EchoTransport, SimFlow, Traffic};
use caudal_simulate::tcp::{ApplicationHandshake, CongestionControl, TcpSettings};
use support::*;

/// The relative difference of `value` from `expected`.
fn relative_difference(value: f64, expected: f64) -> f64 {
    value / expected - 1.0
}

fn assert_near(what: &str, value: f64, expected: f64, tolerance: f64) {
    assert!(
        relative_difference(value, expected).abs() <= tolerance,
        "{what}: {value} is not {expected} within {tolerance}"
    );
}

#[test]
fn tcp_fills_a_link_except_for_headers_preamble_and_interframe_gap() {
    let default = Framing::default();
    let cases = [
        (default, 1500, 0.9415),
        (
            Framing {
                timestamps: false,
                ..default
            },
            1500,
            0.9493,
        ),
        (
            Framing {
                ip: IpVersion::V6,
                ..default
            },
            1500,
            0.9285,
        ),
        (
            Framing {
                vlan: true,
                ..default
            },
            1500,
            0.9390,
        ),
        (
            Framing {
                mtu: 9000,
                ..default
            },
            9000,
            0.9900,
        ),
    ];
    for (framing, mtu, efficiency) in cases {
        // A queue that holds the whole window loses nothing.
        let link = pair(&format!(
            "rate = \"10M\", mtu = {mtu}, queue = {{ frames = 1000 }}"
        ));
        for congestion in [CongestionControl::Reno, CongestionControl::Cubic] {
            let settings = TcpSettings {
                framing,
                receive_window: ByteCount::new(200_000),
                ..settings(congestion)
            };
            let flow = SimFlow::between("a", "b", Traffic::tcp(settings));
            let result = run(&link, vec![flow], 20.0);
            let goodput = mbit_from(&result.flows[0], 2);
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
fn a_smaller_mtu_on_the_path_gives_smaller_segments() {
    let framing = Framing {
        mtu: 9000,
        ..Framing::default()
    };
    let flow = Traffic::tcp(TcpSettings {
        framing,
        ..TcpSettings::default()
    });
    let result = run(
        &pair("rate = \"10M\""),
        vec![SimFlow::between("a", "b", flow)],
        10.0,
    );
    assert_near("goodput", mbit_from(&result.flows[0], 2), 9.415, 0.0005);
}

#[test]
fn a_window_gives_its_size_per_round_trip() {
    let link = pair("rate = \"100M\", delay = \"25ms\"");
    // Even numbers of segments: the last of an odd number is acknowledged late.
    for segments in [10, 44, 180_u64] {
        let window = segments * 1448;
        let variants = [
            TcpSettings {
                receive_window: ByteCount::new(window),
                ..TcpSettings::default()
            },
            TcpSettings {
                send_window: ByteCount::new(window),
                ..TcpSettings::default()
            },
        ];
        for settings in variants {
            let flow = SimFlow::between("a", "b", Traffic::tcp(settings));
            let result = run(&link, vec![flow], 10.0);
            // Less the serialisation time of a segment and its acknowledgement, 0.13 ms of 50, and the millisecond for
            // which data is deferred.
            let goodput = mbit_from(&result.flows[0], 1);
            assert_near("goodput", goodput, window as f64 * 8.0 / 50e3, 0.025);
            assert_eq!(counts(&result.flows[0]).retransmits, 0);
        }
    }
}

#[test]
fn a_window_of_a_few_segments_fills_a_link_without_delay() {
    // With any number of segments, and with the limit at either end: data deferred for a larger burst is sent once a third
    // of the window is free, and the end of a block is acknowledged at once.
    let link = pair("rate = \"100M\"");
    for bytes in [4344, 5792, 8192, 13_032, 13_312, 14_480, 15_928, 26_624] {
        let (small, large) = (ByteCount::new(bytes), ByteCount::new(4 << 20));
        for (send_window, receive_window) in [(small, large), (large, small), (small, small)] {
            let settings = TcpSettings {
                send_window,
                receive_window,
                ..TcpSettings::default()
            };
            let flow = SimFlow::between("a", "b", Traffic::tcp(settings));
            let result = run(&link, vec![flow], 3.0);
            assert_near("goodput", mbit_from(&result.flows[0], 1), 94.15, 0.01);
        }
    }
}

#[test]
fn a_short_transfer_takes_the_round_trips_of_slow_start() {
    // 1 MB at 100 Mbit/s and 40 ms with an initial window of ten segments: the handshake, six round trips and the rest take
    // 0.2875 s, and the last byte needs another 20 ms. Cardwell et al., "Modeling TCP latency", 2000.
    let link = pair("rate = \"100M\", delay = \"20ms\"");
    let bytes = Some(ByteCount::new(1_000_000));
    let settings = TcpSettings {
        handshake: ApplicationHandshake::NONE,
        ..settings(CongestionControl::Reno)
    };
    let flow = SimFlow::between("a", "b", Traffic::Tcp { settings, bytes });
    let result = run(&link, vec![flow], 5.0);
    let flow = &result.flows[0];
    let seconds = flow.end.since(flow.start).as_secs_f64();
    assert_eq!(flow.received, ByteCount::new(1_000_000));
    assert!((0.2875..0.3175).contains(&seconds), "{seconds}");
}

#[test]
fn random_loss_limits_reno_to_the_rate_of_mathis_and_others() {
    // 50 ms: Mathis with 1.22 and with delayed acknowledgements 0.87, in Mbit/s.
    let expected = [
        (0.01, 2.84, 2.01),
        (0.001, 8.97, 6.34),
        (0.0001, 28.4, 20.1),
    ];
    for (loss, max, min) in expected {
        let link = pair(&format!(
            "rate = \"1000M\", delay = \"25ms\", forward = {{ loss = {loss} }}"
        ));
        let result = run(&link, vec![SimFlow::between("a", "b", reno())], 300.0);
        let goodput = mbit(&result.flows[0]);
        assert!(
            (min * 0.9..max * 1.2).contains(&goodput),
            "{loss}: {goodput}"
        );
    }
}

#[test]
fn cubic_exceeds_reno_on_a_long_fat_path_and_equals_it_on_a_short_one() {
    let goodput = |link: &str, flow| {
        mbit(&run(&pair(link), vec![SimFlow::between("a", "b", flow)], 200.0).flows[0])
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
            SimFlow::between("h1", "h2", flow.clone()),
            SimFlow::between("h3", "h2", flow.clone()).starting(Duration::from_millis(500)),
        ];
        let result = run(&star(FULL), flows, 120.0);
        let rates: Vec<f64> = result.flows.iter().map(|flow| mbit_from(flow, 5)).collect();
        let sum: f64 = rates.iter().sum();
        let jain = sum * sum / (2.0 * rates.iter().map(|rate| rate * rate).sum::<f64>());
        assert_near(name, sum, 9.415, 0.01);
        assert!(jain > 0.97, "{name}: {rates:?}");
    }
}

#[test]
fn two_udp_flows_into_one_port_lose_the_excess() {
    // 1 − 9.571/(r1 + r2).
    for (first, second, loss) in [(8.0, 8.0, 0.402), (8.0, 4.0, 0.202)] {
        let flows = vec![
            SimFlow::between("h1", "h2", udp(first)),
            SimFlow::between("h3", "h2", udp(second)),
        ];
        let result = run(&star(FULL), flows, 30.0);
        let sent: f64 = result.flows.iter().map(|flow| flow.sent.as_f64()).sum();
        let received: f64 = result.flows.iter().map(|flow| flow.received.as_f64()).sum();
        // The queue of 100 frames is full at the end and was empty at the start.
        assert_near("loss", 1.0 - received / sent, loss, 0.015);
    }
}

#[test]
fn tcp_gets_the_bandwidth_that_udp_leaves() {
    for (rate, left) in [(3.0, 6.46), (6.0, 3.51)] {
        for flow in [reno(), cubic()] {
            let flows = vec![
                SimFlow::between("h1", "h2", udp(rate)),
                SimFlow::between("h3", "h2", flow),
            ];
            let result = run(&star(FULL), flows, 60.0);
            let [datagrams, stream] = &result.flows[..] else {
                panic!()
            };
            // TCP gains the 2 % or so that UDP loses.
            let loss = loss_ratio(datagrams);
            assert!(loss < 0.05, "{loss}");
            assert_near(
                "left",
                mbit(stream),
                left + rate * loss * 1448.0 / 1472.0,
                0.01,
            );
        }
    }
}

#[test]
fn half_duplex_goodput_depends_on_the_window_as_measured() {
    // Goodput over rate by window in segments, with an acknowledgement for every second segment. The capture effect is
    // strongest where the window runs empty while the acknowledgements back off. Ramakrishnan and Yang, "The Ethernet
    // capture effect", 1994.
    let measured = [(6, 0.87), (12, 0.78), (22, 0.68), (44, 0.69), (88, 0.79)];
    let link = pair("rate = \"10M\", duplex = \"half\"");
    for (window, expected) in measured {
        let result = run(
            &link,
            vec![SimFlow::between("a", "b", windowed(window))],
            60.0,
        );
        assert_near(
            &format!("window {window}"),
            mbit(&result.flows[0]) / 10.0,
            expected,
            0.05,
        );
        let collisions = result.links[0].directions[0].collisions.unwrap();
        assert!(collisions.all > 1000, "{collisions:?}");
    }
}

#[test]
fn a_half_duplex_link_costs_most_at_the_receiver() {
    // At the receiver, acknowledgements collide with the frame that follows at once.
    let goodput = |duplex| {
        let result = run(
            &star(duplex),
            vec![SimFlow::between("h1", "h2", windowed(22))],
            60.0,
        );
        mbit(&result.flows[0])
    };
    let full = goodput(FULL);
    let at_sender = goodput(["half", "full", "full"]);
    let at_receiver = goodput(["full", "half", "full"]);
    assert_near("full duplex", full, 9.415, 0.01);
    assert!(at_receiver < at_sender && at_sender < 0.9 * full);
}

#[test]
fn a_single_udp_flow_has_no_collisions() {
    let result = run(
        &star(["half"; 3]),
        vec![SimFlow::between("h1", "h2", udp(9.5))],
        10.0,
    );
    assert!(loss_ratio(&result.flows[0]) < 0.001);
    assert_near("goodput", mbit(&result.flows[0]), 9.5, 0.001);
}

/// The round-trip times of the first of `hosts` echo clients of h2.
fn echo(transport: EchoTransport, message: u32, hosts: usize) -> DelayStatistics {
    let client = EchoClient {
        transport,
        message,
        exchanges: Some(200),
        pause: Duration::ZERO,
    };
    let flows = ["h1", "h3"][..hosts]
        .iter()
        .map(|host| SimFlow::between(*host, "h2", Traffic::Echo(client)))
        .collect();
    let result = run(&star(FULL), flows, 60.0);
    let FlowDetails::Echo {
        exchanges,
        lost,
        rtt,
    } = &result.flows[0].details
    else {
        panic!()
    };
    assert_eq!((*exchanges, *lost), (200, 0));
    rtt.clone()
}

#[test]
fn an_echo_takes_four_serialisation_times() {
    // Store and forward: host, switch, switch, host; from preamble to last bit, without the interframe gap.
    let udp = EchoTransport::Udp(Framing::default());
    let tcp = EchoTransport::Tcp(TcpSettings::default());
    for (transport, message, headers) in [
        (udp, 1, 28),
        (udp, 100, 28),
        (udp, 1472, 28),
        (tcp, 100, 52),
        (tcp, 1448, 52),
    ] {
        let frame = (message + headers + 18_u32).max(64) + 8;
        let rtt = echo(transport, message, 1);
        let expected = Duration::from_nanos(u64::from(4 * frame) * 800);
        assert_eq!(rtt.min(), Some(expected), "{transport:?} {message}");
        // The first message meets the handshake or the announcements of the hosts.
        let mean = rtt.mean().unwrap().as_secs_f64();
        assert_near("mean", mean, expected.as_secs_f64(), 0.02);
    }
    // Two clients share the path to the server and back: at worst one waits for the other.
    let [one, two] = [1, 2].map(|hosts| echo(udp, 1472, hosts).mean().unwrap());
    assert!(one < two && two < one.mul_f64(1.5), "{one:?} {two:?}");
}

#[test]
fn reordering_within_a_quarter_of_the_round_trip_costs_little() {
    let link = pair(
        "rate = \"100M\", delay = \"20ms\", forward = { reorder = { share = 0.01, places = 3 } }",
    );
    let result = run(&link, vec![SimFlow::between("a", "b", cubic())], 30.0);
    let goodput = mbit_from(&result.flows[0], 10);
    assert!(goodput > 90.0, "{goodput} {:?}", counts(&result.flows[0]));
}

#[test]
fn a_lost_tail_is_repaired_before_the_timeout() {
    let bytes = Some(ByteCount::new(14_480));
    let flow = SimFlow::between(
        "a",
        "b",
        Traffic::Tcp {
            settings: TcpSettings {
                handshake: ApplicationHandshake::NONE,
                ..TcpSettings::default()
            },
            bytes,
        },
    );
    // The segments follow the announcement, the SYN and the last ACK of the handshake; the last of ten is lost.
    let link = pair("rate = \"100M\", delay = \"20ms\", forward = { lose = [12] }");
    let result = run(&link, vec![flow], 5.0);
    let counts = counts(&result.flows[0]);
    assert_eq!(
        (counts.retransmits, counts.timeouts, counts.probes),
        (1, 0, 1)
    );
}
