//! Files whose times or captures do not follow one another, and frames that cannot be read.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod support;

use caudal_capture::{AnalysisOptions, CaptureReport, Finding, FindingCode, FindingSeverity};
use support::build::{down, handshake, packet, up};
use support::{SMALL, analyse, analyse_in};

fn finding<'a>(report: &'a CaptureReport, code: &FindingCode) -> Option<&'a Finding> {
    let mut findings = report.summary.findings.iter();
    findings.find(|finding| finding.code == *code)
}

fn message<'a>(report: &'a CaptureReport, code: &FindingCode) -> &'a str {
    finding(report, code)
        .unwrap_or_else(|| panic!("no {code}: {:#?}", report.summary.findings))
        .message
        .as_received()
}

/// A file in the format pcap of packets, each with its time in µs, behind `link`.
fn pcap(link_type: u32, link: &[u8], packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link_type] {
        file.extend(word.to_le_bytes());
    }
    for (at_us, packet) in packets {
        let length = (link.len() + packet.len()) as u32;
        for word in [
            (at_us / 1_000_000) as u32,
            (at_us % 1_000_000) as u32,
            length,
            length,
        ] {
            file.extend(word.to_le_bytes());
        }
        file.extend(link);
        file.extend(packet);
    }
    file
}

const RAW: u32 = 101;
const NOW_US: u64 = 1_700_000_000_000_000;

/// A transfer of `segments` segments of 1448 bytes, each ms one, which are acknowledged after 10 ms; at this time.
fn transfer(begin_us: u64, segments: u32) -> Vec<(u64, Vec<u8>)> {
    let mut all = handshake();
    for n in 0..segments {
        let at = 20_000 + u64::from(n) * 1_000;
        all.push(up(at, 1_001 + n * 1_448, 5_001, 1_448));
        all.push(down(at + 10_000, 5_001, 1_001 + (n + 1) * 1_448, 0));
    }
    all.sort_by_key(|tcp| tcp.at_us);
    let packets = all.iter().enumerate();
    packets
        .map(|(n, tcp)| (begin_us + tcp.at_us, packet(tcp, n as u16 + 1)))
        .collect()
}

/// The same bytes in pieces of any size.
fn in_pieces(bytes: &[u8]) -> [CaptureReport; 3] {
    [1 << 20, 7, 25].map(|piece| analyse_in(bytes, piece, &AnalysisOptions::default()))
}

#[test]
fn a_flow_in_a_session_of_pppoe_is_followed() {
    let header = [&[0; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, 0x21]].concat();
    let report = analyse(&pcap(1, &header, &transfer(NOW_US, 20)));
    let flow = &report.summary.flows[0];
    let tcp = flow.tcp.as_ref().unwrap();
    assert_eq!(
        (tcp.to_server.data_frames, tcp.to_server.unique_bytes.get()),
        (20, 28_960)
    );
    let names: Vec<_> = report
        .summary
        .protocols
        .iter()
        .map(|one| (one.name.as_str(), one.frames))
        .collect();
    assert!(
        names.contains(&("PPPoE", 43)) && names.contains(&("TCP", 43)),
        "{names:?}"
    );
    // Ethernet (14), PPPoE (8), check sequence, preamble and gap (24), IP and TCP (40) around each full segment.
    let wire = tcp.to_server.segmentation.wire_bytes.get();
    assert_eq!(
        wire,
        20 * (1_448 + 14 + 8 + 24 + 40) + 2 * (14 + 8 + 24 + 40) + 8
    );
}

#[test]
fn a_flow_within_vxlan_is_followed_and_counts_for_each_protocol() {
    let carried = transfer(NOW_US, 20).into_iter().map(|(at_us, inner)| {
        let vxlan = [8, 0, 0, 0, 0, 0, 7, 0];
        let frame = [&vxlan[..], &[0; 12], &[8, 0], &inner].concat();
        let outer = support::build::ipv4(
            17,
            [192, 0, 2, 1],
            [192, 0, 2, 2],
            0,
            0,
            &support::build::udp(9, 4789, &frame),
        );
        (at_us, outer)
    });
    let report = analyse(&pcap(RAW, &[], &carried.collect::<Vec<_>>()));
    assert_eq!(report.summary.totals.flows, 1);
    let flow = &report.summary.flows[0];
    assert_eq!(flow.client.to_string(), "10.0.0.1:1000");
    assert_eq!(flow.tcp.as_ref().unwrap().to_server.data_frames, 20);
    for name in ["IPv4", "UDP", "VXLAN", "TCP"] {
        let of = report.summary.protocols.iter().find(|one| one.name == name);
        assert_eq!(of.map(|one| one.frames), Some(43), "{name}");
    }
}

#[test]
fn frames_that_cannot_be_read_are_a_problem_by_name() {
    let packets = transfer(NOW_US, 20);
    let radiotap = analyse(&pcap(127, &[0, 0, 8, 0, 0, 0, 0, 0], &packets));
    assert_eq!(radiotap.summary.totals.flows, 0);
    assert_eq!(
        message(&radiotap, &FindingCode::UnknownLinkType),
        "43 frames have the link type 127 (IEEE 802.11 with radiotap header), which is not read"
    );
    let macsec = [&[0; 12][..], &[0x88, 0xe5]].concat();
    let macsec = analyse(&pcap(1, &macsec, &packets));
    let problem = finding(&macsec, &FindingCode::NoFlow).unwrap();
    assert_eq!(problem.severity, FindingSeverity::Problem);
    assert_eq!(
        problem.message.as_received(),
        "none of the 43 frames holds a packet that could be read: 43 MACsec"
    );
    assert!(finding(&analyse(SMALL), &FindingCode::NoFlow).is_none());
}

#[test]
fn captures_one_after_the_other_in_a_file_are_read_as_one() {
    let first = pcap(RAW, &[], &transfer(NOW_US, 20));
    let ethernet = [&[0; 12][..], &[8, 0]].concat();
    let second = pcap(1, &ethernet, &transfer(NOW_US + 100_000_000, 20));
    let third = support::build::tcp_file(&handshake());
    for report in in_pieces(&[first, second].concat()) {
        let totals = &report.summary.totals;
        assert_eq!(
            (totals.frames, report.summary.files[0].cut_short.is_none()),
            (86, true)
        );
        assert!(
            (100.0..100.1).contains(&totals.duration_s),
            "{}",
            totals.duration_s
        );
        // The same numbers once more are another connection.
        let again = report.summary.flows.iter().map(|flow| {
            assert_eq!((flow.frames, flow.duration_s < 0.1), (43, true));
            flow.tcp.as_ref().unwrap().to_server.retransmissions.total()
        });
        assert_eq!(again.collect::<Vec<_>>(), [0, 0]);
        let finding = finding(&report, &FindingCode::Concatenated).unwrap();
        assert_eq!((finding.count, finding.frames.as_slice()), (1, &[44][..]));
        let links: Vec<_> = report.summary.files[0]
            .interfaces
            .iter()
            .map(|one| (one.link_type, one.frames))
            .collect();
        assert_eq!(links, [(101, 43), (1, 43)]);
    }
    // pcapng behind pcap, and pcap behind pcapng.
    let small = pcap(RAW, &[], &transfer(NOW_US + 5_000_000, 1));
    for both in [
        [third.clone(), small.clone()].concat(),
        [small, third].concat(),
    ] {
        for report in in_pieces(&both) {
            assert_eq!(report.summary.totals.frames, 3 + 5);
            assert_eq!(
                finding(&report, &FindingCode::Concatenated).unwrap().count,
                1
            );
            assert_eq!(report.summary.files[0].cut_short, None);
        }
    }
}

#[test]
fn a_capture_that_begins_earlier_than_the_one_before_it_has_flows_of_its_own() {
    let early = pcap(RAW, &[], &transfer(NOW_US, 20)[10..]);
    let late = pcap(RAW, &[], &transfer(NOW_US + 60_000_000, 20));
    let report = analyse(&[late, early].concat());
    assert_eq!(report.summary.totals.flows, 2);
    let again = report
        .summary
        .flows
        .iter()
        .map(|flow| flow.tcp.as_ref().unwrap().to_server.retransmissions.total());
    assert_eq!(again.sum::<u64>(), 0);
    assert!(report.summary.totals.duration_s < 0.2);
    assert!(message(&report, &FindingCode::ClockSet).contains("another capture begins there"));
}

#[test]
fn a_clock_that_is_set_makes_no_time_and_no_rate() {
    let hour_us: i64 = 3_600_000_000;
    let years_us: i64 = 40 * 365 * 24 * hour_us;
    for by_us in [-hour_us, years_us] {
        let mut packets = transfer(NOW_US, 200);
        for (at_us, _) in &mut packets[150..] {
            *at_us = at_us.saturating_add_signed(by_us);
        }
        let report = analyse(&pcap(RAW, &[], &packets));
        let flow = &report.summary.flows[0];
        let tcp = flow.tcp.as_ref().unwrap();
        assert!(report.summary.totals.duration_s < 0.3 && flow.duration_s < 0.3);
        assert_eq!(
            (tcp.to_server.goodput_bps, tcp.to_server.payload_rate_bps),
            (None, None)
        );
        assert_eq!(tcp.to_server.retransmissions.total(), 0);
        let rtt = tcp.to_server.ack_rtt.unwrap();
        assert_eq!((rtt.min_us, rtt.max_us), (10_000.0, 10_000.0));
        let clock = finding(&report, &FindingCode::ClockSet).unwrap();
        assert_eq!(
            (clock.severity, clock.frames.as_slice()),
            (FindingSeverity::Problem, &[151][..])
        );
        let way = if by_us < 0 { "back by 3600" } else { "on by 1" };
        assert!(
            clock.message.as_received().contains(way),
            "{}",
            clock.message
        );
    }
}

/// A file of pcapng whose packets have no times: Simple Packet Blocks.
fn simple_packets(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        let length = (12 + padded) as u32;
        let mut bytes = [kind.to_le_bytes(), length.to_le_bytes()].concat();
        bytes.extend(body);
        bytes.resize(8 + padded, 0);
        bytes.extend(length.to_le_bytes());
        bytes
    };
    let mut section = 0x1A2B_3C4D_u32.to_le_bytes().to_vec();
    section.extend([1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    let mut file = block(0x0A0D_0D0A, &section);
    file.extend(block(1, &[RAW as u8, 0, 0, 0, 0, 0, 0, 0]));
    for (_, packet) in packets {
        file.extend(block(
            3,
            &[&(packet.len() as u32).to_le_bytes()[..], packet].concat(),
        ));
    }
    file
}

#[test]
fn frames_without_times_have_no_rates_and_no_round_trips() {
    let packets = transfer(NOW_US, 200);
    let zeros: Vec<_> = packets
        .iter()
        .map(|(_, packet)| (0, packet.clone()))
        .collect();
    for file in [simple_packets(&packets), pcap(RAW, &[], &zeros)] {
        let report = analyse(&file);
        let flow = &report.summary.flows[0];
        let tcp = flow.tcp.as_ref().unwrap();
        assert_eq!(
            (
                tcp.to_server.data_frames,
                tcp.to_server.retransmissions.total()
            ),
            (200, 0)
        );
        assert_eq!(
            (tcp.to_server.goodput_bps, tcp.handshake.rtt_us),
            (None, None)
        );
        assert!(tcp.to_server.ack_rtt.is_none() && tcp.responses.is_none());
        assert!(message(&report, &FindingCode::NoTimes).ends_with("frames have no time"));
    }
    assert_eq!(
        analyse(&simple_packets(&packets)).summary.totals.first_s,
        None
    );
}
