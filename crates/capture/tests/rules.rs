//! The rules by which segments are judged, one by one.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod support;

use caudal_capture::{
    AnalysisOptions, CaptureReport, Finding, FindingCode, FlowSelector, HandshakeKind, TcpAnalysis,
    TcpEndingKind,
};
use support::build::{
    ACK, ECE, FIN, PSH, RST, SYN, SYN_OPTIONS, after_handshake, down, file, handshake, ipv4,
    packet, tcp_file, udp, up,
};
use support::{analyse, analyse_in};

fn tcp(report: &CaptureReport) -> &TcpAnalysis {
    report.summary.flows[0].tcp.as_ref().unwrap()
}

fn has(report: &CaptureReport, code: &FindingCode) -> bool {
    report
        .summary
        .findings
        .iter()
        .any(|finding| finding.code == *code)
}

/// The message of the first finding of a kind.
fn message<'a>(report: &'a CaptureReport, code: &FindingCode) -> &'a str {
    let mut findings = report.summary.findings.iter();
    let finding = findings.find(|finding| finding.code == *code).unwrap();
    finding.message.as_received()
}

/// Three segments of 1000 bytes at 20 ms.
fn burst() -> Vec<support::build::Tcp> {
    vec![
        up(20_000, 1_001, 5_001, 1_000),
        up(20_010, 2_001, 5_001, 1_000),
        up(20_020, 3_001, 5_001, 1_000),
    ]
}

#[test]
fn a_clean_transfer_has_no_problem() {
    let mut segments = burst();
    segments.push(down(30_000, 5_001, 4_001, 0));
    let report = after_handshake(&segments);
    let up = &tcp(&report).to_server;
    assert_eq!(
        (
            up.retransmissions.total(),
            up.out_of_order,
            up.previous_not_captured
        ),
        (0, 0, 0)
    );
    assert_eq!(up.max_in_flight_bytes.unwrap().get(), 3_000);
    assert_eq!(up.ack_rtt.unwrap().min_us, 9_980.0);
    assert_eq!(tcp(&report).handshake.rtt_us, Some(10_010.0));
}

#[test]
fn an_acknowledgement_alone_shows_that_bytes_before_it_were_not_captured() {
    let report = after_handshake(&[
        down(19_000, 5_001, 1_001, 100),
        up(20_000, 2_001, 5_101, 0),
        up(21_000, 1_001, 5_101, 1_000),
        down(30_000, 5_101, 2_001, 0),
    ]);
    let up = &tcp(&report).to_server;
    assert_eq!(
        (
            up.previous_not_captured,
            up.retransmissions.total(),
            up.out_of_order
        ),
        (1, 1, 0)
    );
    assert_eq!((up.missing_bytes.get(), up.unique_bytes.get()), (0, 1_000));
    // That of the SYN: what was sent again tells no time.
    assert_eq!(up.ack_rtt.unwrap().n, 1);
}

#[test]
fn duplicate_acknowledgements_make_a_retransmission_fast() {
    let mut segments = burst();
    for at in 0..3 {
        segments.push(down(30_000 + at * 10, 5_001, 1_001, 0));
    }
    segments.push(up(30_040, 1_001, 5_001, 1_000));
    segments.push(down(40_000, 5_001, 4_001, 0));
    let report = after_handshake(&segments);
    let up = &tcp(&report).to_server;
    assert_eq!(
        (up.retransmissions.fast, up.retransmissions.total()),
        (1, 1)
    );
    assert_eq!(up.retransmissions.bytes.get(), 1_000);
    assert_eq!(tcp(&report).to_client.duplicate_acks, 3);
    // Karn: the acknowledgement of a segment sent again tells no time. There is that of the SYN.
    assert_eq!(up.ack_rtt.unwrap().n, 1);
    let mut findings = report.summary.findings.iter();
    let finding = findings.find(|finding| finding.code == FindingCode::Retransmissions);
    assert_eq!(finding.unwrap().frames, [10]);
}

#[test]
fn silence_makes_a_retransmission_one_after_a_timeout() {
    let mut segments = burst();
    segments.push(up(320_000, 1_001, 5_001, 1_000));
    let report = after_handshake(&segments);
    assert_eq!(tcp(&report).to_server.retransmissions.timeout, 1);
    assert!(has(&report, &FindingCode::Timeouts));
}

#[test]
fn bytes_acknowledged_before_are_sent_again_for_nothing() {
    let mut segments = burst();
    segments.push(down(30_000, 5_001, 4_001, 0));
    segments.push(up(31_000, 1_001, 5_001, 1_000));
    let report = after_handshake(&segments);
    assert_eq!(tcp(&report).to_server.retransmissions.spurious, 1);
    assert_eq!(tcp(&report).to_server.unique_bytes.get(), 3_000);
}

#[test]
fn a_gap_filled_at_once_is_reordering_and_later_a_retransmission() {
    for (filled_at, out_of_order, again) in [(20_030, 1, 0), (60_000, 0, 1)] {
        let segments = vec![
            up(20_000, 1_001, 5_001, 1_000),
            up(20_010, 3_001, 5_001, 1_000),
            up(filled_at, 2_001, 5_001, 1_000),
        ];
        let report = after_handshake(&segments);
        let up = &tcp(&report).to_server;
        assert_eq!(
            (up.out_of_order, up.retransmissions.total()),
            (out_of_order, again)
        );
        assert_eq!((up.previous_not_captured, up.missing_bytes.get()), (1, 0));
        assert_eq!(up.unique_bytes.get(), 3_000);
    }
}

#[test]
fn a_gap_that_stays_is_missing() {
    let report = after_handshake(&[
        up(20_000, 1_001, 5_001, 1_000),
        up(20_010, 3_001, 5_001, 1_000),
    ]);
    assert_eq!(tcp(&report).to_server.missing_bytes.get(), 1_000);
    assert!(has(&report, &FindingCode::SegmentsMissing));
}

#[test]
fn an_acknowledgement_of_what_was_not_captured_says_so() {
    let report = after_handshake(&[
        up(20_000, 1_001, 5_001, 1_000),
        down(30_000, 5_001, 9_001, 0),
    ]);
    assert_eq!(tcp(&report).to_client.acked_not_captured, 1);
    assert_eq!(tcp(&report).to_server.missing_bytes.get(), 7_000);
}

#[test]
fn an_end_that_does_not_answer_for_seconds_is_an_outage() {
    let again = |at_us| up(at_us, 1_001, 5_001, 1_000);
    let mut segments = vec![
        up(20_000, 1_001, 5_001, 1_000),
        again(320_000),
        again(920_000),
        again(2_120_000),
        down(2_130_000, 5_001, 2_001, 0),
    ];
    let report = after_handshake(&segments);
    let text = message(&report, &FindingCode::Outage);
    assert!(
        text.starts_with("nothing came from the server from 0.0 to 2.1 s after the first frame"),
        "{text}"
    );
    assert!(
        text.ends_with("while the client sent 3 segments again"),
        "{text}"
    );
    segments.pop();
    let report = after_handshake(&segments);
    let text = message(&report, &FindingCode::Outage);
    assert!(text.contains("from 0.0 s on"), "{text}");
    // A single loss is none.
    let report = after_handshake(&[
        segments[0],
        again(1_520_000),
        down(1_530_000, 5_001, 2_001, 0),
    ]);
    assert!(!has(&report, &FindingCode::Outage));
}

#[test]
fn windows_that_close_fill_and_open_are_counted() {
    let segments = [
        down(15_000, 5_001, 1_001, 0).window(2_000),
        up(20_000, 1_001, 5_001, 1_000),
        up(20_010, 2_001, 5_001, 1_000),
        down(30_000, 5_001, 3_001, 0).window(0),
        up(230_000, 3_001, 5_001, 1),
        down(240_000, 5_001, 3_001, 0).window(0),
        down(300_000, 5_001, 3_001, 0).window(8_000),
        up(300_010, 3_001, 5_001, 500),
    ];
    let report = after_handshake(&segments);
    let window = tcp(&report).to_client.window;
    assert_eq!(
        (
            window.zero_windows,
            window.filled,
            window.zero_window_probes
        ),
        (2, 1, 1)
    );
    // The window of 2000 in front of the data, and that of 8000 at the end.
    assert_eq!(window.updates, 2);
    assert_eq!(
        (window.min_bytes.unwrap().get(), window.scale_known),
        (0, true)
    );
    assert_eq!(tcp(&report).to_server.unique_bytes.get(), 2_500);
    assert_eq!(tcp(&report).to_server.retransmissions.total(), 0);
    // One window that was full before a larger one is no finding: a slow start fills each in turn.
    assert!(has(&report, &FindingCode::ZeroWindow) && !has(&report, &FindingCode::WindowFull));
}

#[test]
fn a_window_that_is_filled_again_and_again_limits_the_rate() {
    let mut segments = vec![down(15_000, 5_001, 1_001, 0).window(2_000)];
    let mut has_finding = Vec::new();
    for round in 0..3 {
        let (at_us, seq) = (20_000 + 10_000 * round, 1_001 + 2_000 * round as u32);
        segments.push(up(at_us, seq, 5_001, 1_000));
        segments.push(up(at_us + 10, seq + 1_000, 5_001, 1_000));
        segments.push(down(at_us + 5_000, 5_001, seq + 2_000, 0).window(2_000));
        has_finding.push(has(&after_handshake(&segments), &FindingCode::WindowFull));
    }
    assert_eq!(has_finding, [false, true, true]);
}

#[test]
fn a_keep_alive_is_no_retransmission() {
    let segments = [
        up(20_000, 1_001, 5_001, 1_000),
        down(30_000, 5_001, 2_001, 0),
        up(10_000_000, 2_000, 5_001, 0),
        down(10_010_000, 5_001, 2_001, 0),
    ];
    let report = after_handshake(&segments);
    let up = &tcp(&report).to_server;
    assert_eq!((up.window.keep_alives, up.retransmissions.total()), (1, 0));
    assert_eq!(tcp(&report).to_client.duplicate_acks, 0);
}

#[test]
fn handshakes_end_in_several_ways() {
    let syn = |at| up(at, 1_000, 0, 0).flags(SYN).options(SYN_OPTIONS);
    let answer = down(10_000, 5_000, 1_001, 0)
        .flags(SYN | ACK)
        .options(SYN_OPTIONS);
    let reset = down(10_000, 0, 1_001, 0).flags(RST | ACK);
    let cases = [
        (
            vec![syn(0), syn(1_000_000), syn(3_000_000)],
            HandshakeKind::NoAnswer,
            FindingCode::NoAnswer,
        ),
        (
            vec![syn(0), reset],
            HandshakeKind::Refused,
            FindingCode::Refused,
        ),
        (
            vec![syn(0), answer],
            HandshakeKind::NotCompleted,
            FindingCode::NotCompleted,
        ),
        (
            vec![answer, up(10_010, 1_001, 5_001, 0)],
            HandshakeKind::SynNotCaptured,
            FindingCode::MidFlow,
        ),
        (
            vec![up(10_010, 1_001, 5_001, 9)],
            HandshakeKind::NotCaptured,
            FindingCode::MidFlow,
        ),
    ];
    for (segments, kind, code) in cases {
        let report = analyse(&tcp_file(&segments));
        assert_eq!(tcp(&report).handshake.kind, kind);
        assert!(has(&report, &code), "{code}");
    }
}

#[test]
fn a_syn_sent_again_costs_the_round_trip_time_of_the_handshake() {
    let mut segments = vec![up(0, 1_000, 0, 0).flags(SYN).options(SYN_OPTIONS)];
    for mut segment in handshake() {
        segment.at_us += 1_000_000;
        segments.push(segment);
    }
    let report = analyse(&tcp_file(&segments));
    let handshake = &tcp(&report).handshake;
    assert_eq!(
        (handshake.kind, handshake.syn_retransmits),
        (HandshakeKind::Complete, 1)
    );
    assert_eq!(
        (handshake.rtt_us, handshake.syn_to_syn_ack_us),
        (None, Some(10_000.0))
    );
    assert!(has(&report, &FindingCode::HandshakeRepeated));
}

#[test]
fn connections_end_in_several_ways() {
    let fin = up(20_000, 1_001, 5_001, 0).flags(FIN | ACK);
    let other = down(30_000, 5_001, 1_002, 0).flags(FIN | ACK);
    let last = up(30_010, 1_002, 5_002, 0);
    let cases = [
        (vec![fin, other, last], TcpEndingKind::Closed),
        (vec![fin, other], TcpEndingKind::Closing),
        (vec![fin], TcpEndingKind::HalfClosed),
        (
            vec![down(20_000, 5_001, 1_001, 0).flags(RST)],
            TcpEndingKind::Reset,
        ),
        (
            vec![fin, other, up(30_010, 1_002, 0, 0).flags(RST)],
            TcpEndingKind::ResetAfterClose,
        ),
        (vec![], TcpEndingKind::Open),
    ];
    for (segments, kind) in cases {
        assert_eq!(tcp(&after_handshake(&segments)).ending.kind, kind);
    }
}

#[test]
fn a_new_syn_between_the_same_ports_is_a_new_flow() {
    let mut segments = handshake();
    for mut segment in handshake() {
        segment.at_us += 1_000_000;
        segment.seq += 100_000;
        segment.ack += if segment.ack > 0 { 100_000 } else { 0 };
        segments.push(segment);
    }
    let report = analyse(&tcp_file(&segments));
    assert_eq!(report.summary.flows.len(), 2);
    assert!(has(&report, &FindingCode::PortReused));
}

#[test]
fn a_packet_too_big_is_tied_to_its_flow() {
    let first = handshake();
    let mut packets: Vec<_> = first
        .iter()
        .enumerate()
        .map(|(at, tcp)| (tcp.at_us, packet(tcp, at as u16)))
        .collect();
    let big = packet(&up(20_000, 1_001, 5_001, 1_400), 9);
    packets.push((20_000, big.clone()));
    let mut icmp = vec![3, 4, 0, 0, 0, 0, 0x05, 0x14];
    icmp.extend(&big[..28]);
    packets.push((21_000, ipv4(1, [10, 0, 0, 9], [10, 0, 0, 1], 1, 0, &icmp)));
    packets.push((22_000, packet(&up(22_000, 1_001, 5_001, 1_248), 10)));
    let report = analyse(&file(&packets));
    let flow = report
        .summary
        .flows
        .iter()
        .find(|flow| flow.tcp.is_some())
        .unwrap();
    assert_eq!(flow.icmp_errors, 1);
    assert!(has(&report, &FindingCode::PathMtu) && has(&report, &FindingCode::SegmentsShrank));
}

#[test]
fn large_segments_repeated_in_silence_suggest_a_black_hole() {
    let mut segments = vec![up(20_000, 1_001, 5_001, 1_400)];
    for (at, ms) in [250, 700, 1_600].into_iter().enumerate() {
        segments.push(up(ms * 1_000 + at as u64, 1_001, 5_001, 1_400));
    }
    assert!(has(&after_handshake(&segments), &FindingCode::BlackHole));
}

#[test]
fn a_report_shrinks_the_segments_of_its_own_direction_only() {
    let mut packets: Vec<_> = handshake()
        .iter()
        .enumerate()
        .map(|(at, tcp)| (tcp.at_us, packet(tcp, at as u16)))
        .collect();
    let big = packet(&up(20_000, 1_001, 5_001, 1_400), 9);
    packets.push((20_000, big.clone()));
    let mut icmp = vec![3, 4, 0, 0, 0, 0, 0, 0];
    icmp.extend(&big[..28]);
    packets.push((21_000, ipv4(1, [10, 0, 0, 9], [10, 0, 0, 1], 1, 0, &icmp)));
    for (at, tcp) in [
        down(22_000, 5_001, 1_001, 1_400),
        down(23_000, 6_401, 1_001, 500),
    ]
    .iter()
    .enumerate()
    {
        packets.push((tcp.at_us, packet(tcp, 20 + at as u16)));
    }
    assert!(!has(
        &analyse(&file(&packets)),
        &FindingCode::SegmentsShrank
    ));
    packets.push((24_000, packet(&up(24_000, 1_001, 6_901, 1_248), 10)));
    let report = analyse(&file(&packets));
    assert_eq!(
        message(&report, &FindingCode::SegmentsShrank),
        "after ICMP reported that a packet of 1440 B is too big, the client sent its segment again with 1248 B"
    );
}

#[test]
fn segments_that_pass_once_they_are_smaller_tell_of_a_black_hole_without_icmp() {
    let mut segments = vec![up(20_000, 1_001, 5_001, 1_400)];
    for ms in [250, 700, 1_600] {
        segments.push(up(ms * 1_000, 1_001, 5_001, 1_400));
    }
    segments.push(up(3_400_000, 1_001, 5_001, 1_012));
    let unanswered = after_handshake(&segments);
    assert!(!has(&unanswered, &FindingCode::SegmentsShrank));
    segments.push(down(3_410_000, 5_001, 2_013, 0));
    let report = after_handshake(&segments);
    assert!(has(&report, &FindingCode::BlackHole));
    assert_eq!(
        message(&report, &FindingCode::SegmentsShrank),
        "after 3 timeouts the client sent a segment of 1400 B again with 1012 B, which was acknowledged; no ICMP message came"
    );
    let shrank = |finding: &&Finding| finding.code == FindingCode::SegmentsShrank;
    let finding = report.summary.findings.iter().find(shrank).unwrap();
    assert_eq!(finding.frames, [8]);
}

#[test]
fn segments_of_other_sizes_after_timeouts_are_no_sign_of_an_mtu() {
    // Each retransmission is acknowledged: the path loses packets of any size.
    let segments = [
        up(20_000, 1_001, 5_001, 1_400),
        up(250_000, 1_001, 5_001, 1_400),
        down(260_000, 5_001, 2_401, 0),
        up(261_000, 2_401, 5_001, 1_400),
        up(600_000, 2_401, 5_001, 1_400),
        down(610_000, 5_001, 3_801, 0),
        up(611_000, 3_801, 5_001, 600),
        up(1_000_000, 3_801, 5_001, 600),
        down(1_010_000, 5_001, 4_401, 0),
    ];
    let report = after_handshake(&segments);
    assert!(has(&report, &FindingCode::Timeouts));
    for code in [FindingCode::BlackHole, FindingCode::SegmentsShrank] {
        assert!(!has(&report, &code), "{code:?}");
    }
}

#[test]
fn acknowledgements_alone_are_followed_beyond_2_gib() {
    let acks: Vec<_> = (0..8_u32)
        .map(|at| down(u64::from(at), 5_001, 1 + (at << 29), 0))
        .collect();
    let options = AnalysisOptions {
        detail: Some(FlowSelector::Number(1)),
        ..AnalysisOptions::default()
    };
    let report = analyse_in(&tcp_file(&acks), 1 << 20, &options);
    let steps = report.detail.unwrap().ladder.steps;
    let numbers: Vec<_> = steps.iter().map(|step| step.ack.unwrap()).collect();
    let expected: Vec<_> = (0..8).map(|at: i64| 1 + (at << 29)).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn exchanges_that_overlap_are_not_said_to_take_turns() {
    let mut segments = Vec::new();
    let mut number = 0;
    for turn in 0..20_u32 {
        let at = 20_000 + u64::from(turn) * 20_000;
        segments.push(up(at, 1_001 + number, 5_001 + number, 10).flags(PSH | ACK));
        if turn == 7 {
            // Half of the echo, the next message, and the rest.
            segments.push(down(at + 10_000, 5_001 + number, 1_011 + number, 5).flags(PSH | ACK));
            segments.push(up(at + 10_100, 1_011 + number, 5_006 + number, 10).flags(PSH | ACK));
            segments.push(down(at + 10_200, 5_006 + number, 1_021 + number, 15).flags(PSH | ACK));
            number += 20;
        } else {
            segments.push(down(at + 10_000, 5_001 + number, 1_011 + number, 10).flags(PSH | ACK));
            number += 10;
        }
    }
    let report = after_handshake(&segments);
    let tcp = report.summary.flows[0].tcp.as_ref().unwrap();
    let responses = tcp.responses.as_ref().unwrap();
    assert_eq!((responses.overlapped, responses.stop_and_wait), (1, false));
    assert!(!has(&report, &FindingCode::StopAndWait));
}

#[test]
fn fragments_are_put_together_and_missing_ones_are_noticed() {
    let datagram = udp(40_000, 50_000, &[7; 3_000]);
    let (one, rest) = datagram.split_at(1_480);
    let (two, three) = rest.split_at(1_480);
    let part = |id, offset: usize, more: bool, body: &[u8]| {
        let field = (offset / 8) as u16 | if more { 0x2000 } else { 0 };
        ipv4(17, [10, 0, 0, 1], [10, 0, 0, 2], id, field, body)
    };
    let report = analyse(&file(&[
        (0, part(1, 2_960, false, three)),
        (10, part(1, 0, true, one)),
        (20, part(1, 1_480, true, two)),
        (30, part(2, 0, true, one)),
        (40, part(2, 2_960, false, three)),
    ]));
    let flow = &report.summary.flows[0];
    let side = &flow.udp.as_ref().unwrap().to_server;
    assert_eq!(
        (side.datagrams, side.fragmented, side.incomplete),
        (1, 1, 1)
    );
    assert_eq!(side.sizes.unwrap().max_bytes.get(), 3_000);
    assert!(has(&report, &FindingCode::FragmentsMissing));
}

#[test]
fn numbers_of_iperf3_tell_loss_reordering_and_jitter() {
    let datagram = |number: u32, sent_us: u32| {
        let mut payload = [0; 100];
        payload[4..8].copy_from_slice(&sent_us.to_be_bytes());
        payload[8..12].copy_from_slice(&number.to_be_bytes());
        ipv4(
            17,
            [10, 0, 0, 1],
            [10, 0, 0, 2],
            number as u16,
            0,
            &udp(40_000, 5_201, &payload),
        )
    };
    let order = [1, 2, 3, 4, 5, 6, 8, 7, 9, 12, 12];
    let packets: Vec<_> = order
        .into_iter()
        .map(|number| (u64::from(number) * 100 + 7, datagram(number, number * 100)))
        .collect();
    let report = analyse(&file(&packets));
    let flow = &report.summary.flows[0];
    let numbers = flow.udp.as_ref().unwrap().to_server.numbers.unwrap();
    assert_eq!(
        (numbers.received, numbers.expected, numbers.lost),
        (10, 12, 2)
    );
    assert_eq!((numbers.reordered, numbers.duplicates), (1, 0));
    assert_eq!(numbers.jitter_us, Some(0.0));
    assert_eq!(
        flow.application,
        Some(caudal_capture::RecognisedProtocol::Iperf3Udp)
    );
    // The last frame is the one before it once more: captured twice, not sent twice.
    assert!(
        has(&report, &FindingCode::DatagramLoss) && has(&report, &FindingCode::DuplicateFrames)
    );
}

#[test]
fn marks_of_congestion_are_counted() {
    let mut marked = up(20_000, 1_001, 5_001, 1_000);
    marked.tos = 3;
    let report = after_handshake(&[marked, down(30_000, 5_001, 2_001, 0).flags(ACK | ECE)]);
    assert_eq!(report.summary.flows[0].to_server.ecn.ce, 1);
    assert_eq!(tcp(&report).to_client.ecn.ece, 1);
    assert!(has(&report, &FindingCode::CongestionMarked));
}

#[test]
fn selective_acknowledgements_and_duplicate_ones_are_told_apart() {
    // SACK 2001..3001 relative to what is acknowledged; then 1001..2001 below it.
    let sack: &[u8] = &[1, 1, 5, 10, 0, 0, 0x07, 0xd1, 0, 0, 0x0b, 0xb9];
    let duplicate: &[u8] = &[1, 1, 5, 10, 0, 0, 0x03, 0xe9, 0, 0, 0x07, 0xd1];
    let mut segments = burst();
    segments.push(down(30_000, 5_001, 1_001, 0).options(sack));
    segments.push(down(40_000, 5_001, 4_001, 0).options(duplicate));
    let report = after_handshake(&segments);
    let server = &tcp(&report).to_client;
    assert_eq!(
        (
            server.sack_frames,
            server.sack_blocks,
            server.duplicate_sacks
        ),
        (2, 2, 1)
    );
}

#[test]
fn requests_that_wait_for_delayed_acknowledgements_are_noticed() {
    let segments = [
        up(20_000, 1_001, 5_001, 100),
        down(70_000, 5_001, 1_101, 0),
        up(70_050, 1_101, 5_001, 100).flags(PSH | ACK),
    ];
    assert!(has(
        &after_handshake(&segments),
        &FindingCode::DelayedAckStall
    ));
}
