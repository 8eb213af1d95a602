//! Real captures of every link header that is read; `captures/README.md` says how they were made and where the numbers are from.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod support;

use caudal_capture::{
    CapturePoint, CaptureReport, CapturedFlow, HandshakeKind, RecognisedProtocol,
};
use support::analyse;

/// Frames and bytes of a protocol.
fn protocol(report: &CaptureReport, name: &str) -> Option<(u64, u64)> {
    let mut protocols = report.summary.protocols.iter();
    let found = protocols.find(|protocol| protocol.name == name)?;
    Some((found.frames, found.bytes.get()))
}

fn totals(report: &CaptureReport) -> (u64, u64) {
    let totals = &report.summary.totals;
    assert_eq!(totals.malformed_frames, 0);
    (totals.frames, totals.bytes.get())
}

fn link(report: &CaptureReport) -> (u16, &str) {
    let interface = &report.summary.files[0].interfaces[0];
    (interface.link_type, &interface.link_name)
}

/// Checks the echo of 100 and 1000 bytes over TCP, in 12 frames of `bytes`.
fn check_echo(report: &CaptureReport, client: &str, server: &str, bytes: u64) {
    assert_eq!(totals(report), (12, bytes));
    assert_eq!(protocol(report, "TCP"), Some((12, bytes)));
    assert_eq!(report.summary.flows.len(), 1);
    let flow = &report.summary.flows[0];
    assert_eq!(
        (flow.client.to_string(), flow.server.to_string()),
        (client.to_owned(), server.to_owned())
    );
    assert_eq!((flow.to_server.frames, flow.to_client.frames), (7, 5));
    assert_eq!((flow.frames, flow.bytes.get()), (12, bytes));
    let tcp = flow.tcp.as_ref().unwrap();
    assert_eq!(tcp.handshake.kind, HandshakeKind::Complete);
    for side in [&tcp.to_server, &tcp.to_client] {
        assert_eq!((side.unique_bytes.get(), side.data_frames), (1_100, 2));
        assert_eq!(side.missing_bytes.get(), 0);
    }
    let sizes = &tcp.responses.as_ref().unwrap().sizes;
    let sizes: Vec<_> = sizes
        .iter()
        .map(|size| (size.request_bytes.get(), size.response_bytes.get(), size.n))
        .collect();
    assert_eq!(sizes, [(100, 100, 1), (1_000, 1_000, 1)]);
}

#[test]
fn frames_with_a_vlan_tag_are_read() {
    let report = analyse(include_bytes!("captures/vlan.pcap"));
    assert_eq!(link(&report), (1, "Ethernet"));
    check_echo(&report, "10.9.0.1:34794", "10.9.0.2:7000", 3056);
    assert_eq!(protocol(&report, "VLAN"), Some((12, 3056)));
    // Ethernet with a tag (18), check sequence, preamble and gap (24), IP (20) and TCP (32; 40 in the SYN) around 1100 bytes.
    let wire = report.summary.flows[0]
        .tcp
        .as_ref()
        .unwrap()
        .to_server
        .segmentation
        .wire_bytes;
    assert_eq!(wire.get(), 1_100 + 7 * (18 + 24 + 20 + 32) + 8);
}

#[test]
fn frames_with_two_tags_are_read() {
    let report = analyse(include_bytes!("captures/qinq.pcap"));
    check_echo(&report, "10.9.0.1:34808", "10.9.0.2:7000", 3104);
    assert_eq!(protocol(&report, "VLAN"), Some((12, 3104)));
}

#[test]
fn linux_cooked_frames_of_both_versions_are_read_and_tell_what_was_sent() {
    let cases: [(&[u8], &str, u16, &str, u64); 2] = [
        (
            include_bytes!("captures/cooked-v1.pcap"),
            "10.9.0.1:48780",
            113,
            "Linux cooked v1",
            3032,
        ),
        (
            include_bytes!("captures/cooked-v2.pcap"),
            "10.9.0.1:48768",
            276,
            "Linux cooked v2",
            3080,
        ),
    ];
    for (file, client, number, name, bytes) in cases {
        let report = analyse(file);
        assert_eq!(link(&report), (number, name));
        check_echo(&report, client, "10.9.0.2:7000", bytes);
        let location = &report.summary.flows[0].tcp.as_ref().unwrap().location;
        assert_eq!(location.point, CapturePoint::ClientHost, "{location:?}");
    }
}

#[test]
fn packets_without_a_link_header_are_read() {
    let report = analyse(include_bytes!("captures/raw-ip.pcap"));
    assert_eq!(link(&report), (101, "raw IP"));
    check_echo(&report, "10.9.0.1:48796", "10.9.0.2:7000", 2840);
}

#[test]
fn packets_of_ipv6_behind_a_loopback_header_are_read() {
    let report = analyse(include_bytes!("captures/loopback.pcap"));
    assert_eq!(link(&report), (0, "BSD loopback"));
    check_echo(&report, "[fd00:9::1]:57294", "[fd00:9::2]:7000", 3128);
    assert_eq!(protocol(&report, "IPv6"), Some((12, 3128)));
}

fn udp_flow(report: &CaptureReport) -> &CapturedFlow {
    let mut flows = report.summary.flows.iter();
    flows.find(|flow| flow.udp.is_some()).unwrap()
}

#[test]
fn extension_headers_and_fragments_of_ipv6_are_read() {
    let report = analyse(include_bytes!("captures/ipv6-fragments.pcap"));
    assert_eq!(totals(&report), (10, 5072));
    // Reports of multicast listeners stand behind a hop-by-hop header.
    assert_eq!(protocol(&report, "ICMP"), Some((4, 440)));
    assert_eq!(protocol(&report, "UDP"), Some((6, 5072 - 440)));
    let flow = udp_flow(&report);
    assert_eq!(flow.client.to_string(), "[fd00:9::1]:48526");
    assert_eq!((flow.to_server.frames, flow.to_server.fragments), (4, 3));
    assert_eq!(flow.to_server.bytes.get(), 270 + 1_510 + 1_510 + 1_198);
    assert_eq!(flow.to_server.payload_bytes.get(), 4_200);
    let udp = flow.udp.as_ref().unwrap();
    let sizes = udp.to_server.sizes.unwrap();
    assert_eq!((sizes.min_bytes.get(), sizes.max_bytes.get()), (200, 4_000));
    assert_eq!(
        (
            udp.to_server.datagrams,
            udp.to_server.fragmented,
            udp.to_server.incomplete
        ),
        (2, 1, 0)
    );
    assert_eq!(
        (udp.to_client.datagrams, flow.to_client.payload_bytes.get()),
        (2, 20)
    );
}

#[test]
fn quic_is_recognised_and_its_cut_frames_count_whole() {
    let report = analyse(include_bytes!("captures/quic.pcap"));
    assert_eq!(totals(&report), (16, 11436));
    assert!(report.summary.totals.cut_off_frames > 0);
    let flow = udp_flow(&report);
    assert_eq!(flow.application, Some(RecognisedProtocol::Quic));
    assert_eq!((flow.to_server.frames, flow.to_client.frames), (8, 8));
    // Headers of Ethernet, IP and UDP: 42 bytes.
    assert_eq!(
        flow.to_server.payload_bytes.get(),
        flow.to_server.bytes.get() - 8 * 42
    );
    assert_eq!(flow.bytes.get(), 11436);
    // Its headers are whole, and datagrams have no options.
    assert_eq!(report.summary.findings, []);
}
