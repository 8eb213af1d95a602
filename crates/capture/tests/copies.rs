//! Packets that a capture holds more than once, and those that only look so.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod support;

use caudal_capture::{
    AnalysisOptions, CaptureAnalysis, CaptureReport, CapturedFrame, Finding, FindingCode,
    FindingSeverity, FrameOrigin, LinkType, TcpAnalysis,
};
use support::analyse;
use support::build::{ACK, FIN, SYN, Tcp, down, handshake, ipv4, packet, udp, up};

fn finding<'a>(report: &'a CaptureReport, code: &FindingCode) -> Option<&'a Finding> {
    let mut findings = report.summary.findings.iter();
    findings.find(|finding| finding.code == *code)
}

fn problems(report: &CaptureReport) -> Vec<&str> {
    let findings = report.summary.findings.iter();
    findings
        .filter(|finding| finding.severity == FindingSeverity::Problem)
        .map(|finding| finding.message.as_received())
        .collect()
}

#[test]
fn a_router_shows_every_packet_of_ipv6_twice_and_each_counts_once() {
    let report = analyse(include_bytes!("captures/router-ipv6.pcap"));
    let totals = &report.summary.totals;
    assert_eq!((totals.frames, totals.captured_twice_frames), (80, 80));
    assert_eq!(report.summary.files[0].frames, 160);
    let flows: Vec<_> = report.summary.flows.iter().collect();
    let sides = |tcp: &TcpAnalysis| {
        let sides = [&tcp.to_server, &tcp.to_client];
        let sum = |of: fn(&caudal_capture::TcpDirectionAnalysis) -> u64| {
            sides.iter().map(|side| of(side)).sum::<u64>()
        };
        [
            sum(|side| side.data_frames),
            sum(|side| side.retransmissions.total()),
            sum(|side| side.duplicate_acks),
        ]
    };
    let counts: Vec<_> = flows
        .iter()
        .map(|flow| sides(flow.tcp.as_ref().unwrap()))
        .collect();
    assert_eq!(counts, [[36, 0, 0], [4, 0, 0]]);
    let first = flows[0].tcp.as_ref().unwrap();
    assert_eq!(flows.iter().map(|flow| flow.frames).sum::<u64>(), 80);
    assert_eq!(
        first.handshake.syn_retransmits + first.handshake.syn_ack_retransmits,
        0
    );
    assert_eq!(first.handshake.rtt_us, Some(20.0));
    assert_eq!(problems(&report), [""; 0]);
    let twice = finding(&report, &FindingCode::DuplicateFrames).unwrap();
    assert_eq!((twice.severity, twice.count), (FindingSeverity::Notice, 80));
    assert_eq!(
        twice.message.as_received(),
        "80 frames were captured twice: each packet counts once"
    );
}

#[test]
fn a_syn_ack_without_identification_that_a_router_shows_twice_was_not_sent_again() {
    let report = analyse(include_bytes!("captures/router-ipv4.pcap"));
    let tcp = report.summary.flows[0].tcp.as_ref().unwrap();
    assert_eq!(report.summary.totals.captured_twice_frames, 20);
    assert_eq!(tcp.handshake.syn_ack_retransmits, 0);
    assert_eq!(
        tcp.to_server.retransmissions.total() + tcp.to_client.retransmissions.total(),
        0
    );
    assert_eq!(problems(&report), [""; 0]);
    // Packets are followed from where they came.
    assert_eq!(
        (
            report.summary.flows[0].to_server.ttl_min,
            report.summary.flows[0].to_server.ttl_max
        ),
        (Some(64), Some(64))
    );
}

/// One frame of raw IP at a time in µs.
fn push(analysis: &mut CaptureAnalysis, at_us: u64, origin: FrameOrigin, data: &[u8]) {
    analysis.frame(&CapturedFrame {
        interface: 0,
        capture: 0,
        link_type: LinkType::Raw,
        at_ns: Some((1_700_000_000_000_000 + at_us) * 1_000),
        original_bytes: data.len() as u32,
        data,
        origin,
        gso: None,
    });
}

fn report(frames: &[(u64, FrameOrigin, Vec<u8>)]) -> CaptureReport {
    let mut analysis = CaptureAnalysis::new(&AnalysisOptions::default());
    for (at_us, origin, data) in frames {
        push(&mut analysis, *at_us, *origin, data);
    }
    analysis.finish()
}

/// A packet of IPv6, which has no identification, with the hop limit as in IPv4.
fn v6(tcp: &Tcp) -> Vec<u8> {
    let v4 = packet(tcp, 0);
    let (header, body) = v4.split_at(20);
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend([6, header[8]]);
    for address in [&header[12..16], &header[16..20]] {
        bytes.extend([0xfd; 12]);
        bytes.extend(address);
    }
    bytes.extend(body);
    bytes
}

fn again(report: &CaptureReport) -> (u64, u64, u64) {
    let tcp = report.summary.flows[0].tcp.as_ref().unwrap();
    let sides = [&tcp.to_server, &tcp.to_client];
    (
        report.summary.totals.captured_twice_frames,
        sides.iter().map(|side| side.retransmissions.total()).sum(),
        sides.iter().map(|side| side.duplicate_acks).sum(),
    )
}

const UNKNOWN: FrameOrigin = FrameOrigin::Unknown;

/// Ten segments of 1000 bytes and their acknowledgements 10 ms later.
fn train() -> (Vec<Tcp>, Vec<Tcp>) {
    let data = (0..10).map(|n| up(20_000 + n * 10, 1_001 + n as u32 * 1_000, 5_001, 1_000));
    let acks = (0..10).map(|n| down(30_000 + n * 10, 5_001, 2_001 + n as u32 * 1_000, 0));
    (data.collect(), acks.collect())
}

#[test]
fn trains_that_come_before_they_go_count_once_in_both_versions_of_ip() {
    let (data, acks) = train();
    for is_v6 in [true, false] {
        let bytes = |tcp: &Tcp, id: u16| if is_v6 { v6(tcp) } else { packet(tcp, id) };
        let mut frames = Vec::new();
        let mut id = 0;
        // A queue of 150 ms lies between the two points for the data.
        for (train, queued_us) in [(handshake(), 3), (data.clone(), 150_000), (acks.clone(), 3)] {
            for (origin, hops, later) in [
                (FrameOrigin::Received, 0, 0),
                (FrameOrigin::Sent, 1, queued_us),
            ] {
                for (n, tcp) in train.iter().enumerate() {
                    let tcp = Tcp {
                        ttl: tcp.ttl - hops,
                        ..*tcp
                    };
                    frames.push((tcp.at_us + later, origin, bytes(&tcp, id + n as u16 + 1)));
                }
            }
            id += 100;
        }
        frames.sort_by_key(|(at_us, ..)| *at_us);
        let report = report(&frames);
        assert_eq!(again(&report), (23, 0, 0), "IPv6: {is_v6}");
        assert_eq!(report.summary.flows[0].frames, 23);
    }
}

#[test]
fn a_port_that_copies_frames_without_identification_doubles_all_of_them() {
    let (data, acks) = train();
    let mut frames = Vec::new();
    for tcp in [handshake(), data, acks].concat() {
        for later in [0, 2] {
            frames.push((tcp.at_us + later, UNKNOWN, v6(&tcp)));
        }
    }
    let report = report(&frames);
    assert_eq!(again(&report), (23, 0, 0));
    let twice = finding(&report, &FindingCode::DuplicateFrames).unwrap();
    assert!(
        twice
            .message
            .as_received()
            .ends_with("the capture does not tell")
    );
}

#[test]
fn what_was_sent_again_is_no_copy() {
    let lost = up(20_000, 1_001, 5_001, 1_000);
    let behind = up(20_010, 2_001, 5_001, 1_000);
    let duplicate = |at_us| down(at_us, 5_001, 1_001, 0);
    let acks = [30_010, 30_011, 30_012].map(duplicate);
    // IPv6 has no identification: the time of a round trip tells.
    let after_acks = [
        &[lost, behind][..],
        &acks,
        &[up(30_100, 1_001, 5_001, 1_000)],
    ]
    .concat();
    let after_timeout = vec![lost, behind, up(240_000, 1_001, 5_001, 1_000)];
    for (tail, acks) in [(after_acks, 3), (after_timeout, 0)] {
        let all = [handshake(), tail].concat();
        let frames = |bytes: &dyn Fn((usize, &Tcp)) -> Vec<u8>| -> Vec<_> {
            let frames = all.iter().enumerate();
            frames
                .map(|(n, tcp)| (tcp.at_us, UNKNOWN, bytes((n, tcp))))
                .collect()
        };
        let v6 = report(&frames(&|(_, tcp)| v6(tcp)));
        assert_eq!(again(&v6), (0, 1, acks));
        let v4 = report(&frames(&|(n, tcp)| packet(tcp, n as u16 + 1)));
        assert_eq!(again(&v4), (0, 1, acks));
        // Also where a router shows each of them twice.
        let mut twice = Vec::new();
        for (n, tcp) in all.iter().enumerate() {
            let further = Tcp { ttl: 63, ..*tcp };
            twice.push((tcp.at_us, FrameOrigin::Received, self::v6(tcp)));
            twice.push((tcp.at_us + 1, FrameOrigin::Sent, self::v6(&further)));
            let _ = n;
        }
        twice.sort_by_key(|(at_us, ..)| *at_us);
        assert_eq!(again(&report(&twice)), (all.len() as u64, 1, acks));
    }
}

#[test]
fn a_syn_ack_after_a_second_was_sent_again() {
    let answer = down(10_000, 5_000, 1_001, 0).flags(SYN | ACK);
    let frames = [
        (0, UNKNOWN, packet(&up(0, 1_000, 0, 0).flags(SYN), 1)),
        (10_000, UNKNOWN, packet(&answer, 0)),
        (1_010_000, UNKNOWN, packet(&answer, 0)),
        (1_010_100, UNKNOWN, packet(&up(0, 1_001, 5_001, 0), 2)),
    ];
    let report = report(&frames);
    let tcp = report.summary.flows[0].tcp.as_ref().unwrap();
    assert_eq!(tcp.handshake.syn_ack_retransmits, 1);
    assert!(finding(&report, &FindingCode::HandshakeRepeated).is_some());
}

#[test]
fn datagrams_are_copies_where_an_identification_or_a_point_tells() {
    let datagram = |id, ttl| {
        let mut bytes = ipv4(
            17,
            [10, 0, 0, 1],
            [10, 0, 0, 2],
            id,
            0x4000,
            &udp(1, 2, &[0; 40]),
        );
        bytes[8] = ttl;
        bytes
    };
    let same_id = (0..10)
        .flat_map(|n| [0, 3].map(|later| (n * 100 + later, UNKNOWN, datagram(n as u16 + 1, 64))));
    // A sender of equal datagrams without identification sends what it says.
    let equal = (0..20).map(|n| (n * 50, UNKNOWN, datagram(0, 64)));
    let routed = (0..10).flat_map(|n| {
        [
            (n * 100, FrameOrigin::Received, datagram(0, 64)),
            (n * 100 + 1, FrameOrigin::Sent, datagram(0, 63)),
        ]
    });
    let cases = [
        (same_id.collect::<Vec<_>>(), 10, 10),
        (equal.collect(), 20, 0),
        (routed.collect(), 10, 10),
    ];
    for (frames, counted, copies) in cases {
        let report = report(&frames);
        assert_eq!(report.summary.totals.captured_twice_frames, copies);
        assert_eq!(
            report.summary.flows[0]
                .udp
                .as_ref()
                .unwrap()
                .to_server
                .datagrams,
            counted
        );
    }
}

#[test]
fn one_side_alone_claims_nothing_that_takes_both() {
    let (data, acks) = train();
    let end = up(50_000, 11_001, 5_001, 0).flags(FIN | ACK);
    let all = [
        handshake(),
        data,
        vec![up(25_000, 1_001, 5_001, 1_000)],
        acks,
        vec![end],
    ]
    .concat();
    for from_client in [true, false] {
        let side = all.iter().filter(|tcp| tcp.from_client == from_client);
        let frames: Vec<_> = side
            .enumerate()
            .map(|(n, tcp)| (tcp.at_us, UNKNOWN, packet(tcp, n as u16 + 1)))
            .collect();
        let report = report(&frames);
        let one = finding(&report, &FindingCode::OneDirection).unwrap();
        let who = if from_client { "client" } else { "server" };
        assert!(one.message.as_received().starts_with(&format!(
            "only packets of the {who} were captured: round trips"
        )));
        let unfounded = [
            FindingCode::NoAnswer,
            FindingCode::HalfClosed,
            FindingCode::AckedNotCaptured,
            FindingCode::NotCompleted,
            FindingCode::MidFlow,
        ];
        for code in unfounded {
            assert!(finding(&report, &code).is_none(), "{code} of the {who}");
        }
        let tcp = report.summary.flows[0].tcp.as_ref().unwrap();
        assert!(tcp.to_server.ack_rtt.is_none() && tcp.to_client.ack_rtt.is_none());
        assert_eq!(tcp.handshake.rtt_us, None);
        if from_client {
            assert_eq!(tcp.to_server.retransmissions.total(), 1);
            let message = finding(&report, &FindingCode::Retransmissions).unwrap();
            assert!(
                message
                    .message
                    .as_received()
                    .ends_with("would say why were not captured")
            );
        }
    }
}
