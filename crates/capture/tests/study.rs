//! The two captures of a study of echo over TCP (100 Mbit/s, Java sockets, 2019), against what its figures show.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod support;

use caudal_capture::{
    AnalysisOptions, CapturePoint, FindingCode, FlowSelector, FrameDirection, HandshakeKind,
    Offload, TcpEndingKind,
};
use support::{OFFLOADED, SMALL, analyse, analyse_in};

fn detailed() -> AnalysisOptions {
    AnalysisOptions {
        detail: Some(FlowSelector::Number(1)),
        ..AnalysisOptions::default()
    }
}

#[test]
fn a_message_of_2048_bytes_crosses_in_two_segments() {
    let summary = analyse(SMALL).summary;
    assert_eq!((summary.totals.frames, summary.flows.len()), (10, 1));
    let flow = &summary.flows[0];
    assert_eq!(flow.client.to_string(), "10.0.100.11:33348");
    assert_eq!(flow.server.to_string(), "10.0.100.16:1025");
    let tcp = flow.tcp.as_ref().unwrap();
    assert_eq!(tcp.handshake.kind, HandshakeKind::Complete);
    assert_eq!(tcp.ending.kind, TcpEndingKind::Closed);
    for offer in [&tcp.handshake.client, &tcp.handshake.server] {
        let offer = offer.as_ref().unwrap();
        assert_eq!((offer.mss_bytes, offer.window_scale), (Some(1460), Some(5)));
        assert!(offer.sack_permitted && offer.timestamps);
    }
    let up = &tcp.to_server;
    assert_eq!((up.data_frames, up.unique_bytes.get()), (2, 2048));
    assert_eq!(
        (up.messages.count, up.messages.sizes[0].bytes.get()),
        (1, 2048)
    );
    assert_eq!(up.segmentation.segment_bytes, Some(1448));
    assert_eq!(
        (up.segmentation.super_packets, up.segmentation.wire_segments),
        (0, 2)
    );
    assert_eq!(flow.to_server.df_frames, 6);
    assert_eq!(flow.to_client.df_frames, 4);
    // Headers of 66 bytes and 24 around each frame: 6 frames.
    assert_eq!(
        up.segmentation.wire_bytes.get(),
        2048 + (74 + 24) + 5 * (66 + 24)
    );
}

#[test]
fn the_handshake_shows_that_it_was_captured_at_the_client() {
    let summary = analyse(SMALL).summary;
    let tcp = summary.flows[0].tcp.as_ref().unwrap();
    assert_eq!(tcp.handshake.syn_to_syn_ack_us, Some(827.0));
    assert_eq!(tcp.handshake.syn_ack_to_ack_us, Some(74.0));
    assert_eq!(tcp.handshake.rtt_us, Some(901.0));
    assert_eq!(
        tcp.location.point,
        CapturePoint::ClientHost,
        "{:?}",
        tcp.location
    );
}

#[test]
fn the_sequence_diagram_is_that_of_figure_16() {
    use FrameDirection::{ToClient, ToServer};
    let detail = analyse_in(SMALL, 1 << 20, &detailed()).detail.unwrap();
    let expected = [
        (0.000_000, ToServer, 0, None),
        (0.000_827, ToClient, 0, Some(1)),
        (0.000_901, ToServer, 1, Some(1)),
        (0.002_361, ToServer, 1, Some(1)),
        (0.002_408, ToServer, 1449, Some(1)),
        (0.002_573, ToClient, 1, Some(1449)),
        (0.002_604, ToClient, 1, Some(2049)),
        (0.006_106, ToServer, 2049, Some(1)),
        (0.007_594, ToClient, 1, Some(2050)),
        (0.007_627, ToServer, 2050, Some(2)),
    ];
    let steps: Vec<_> = detail
        .ladder
        .steps
        .iter()
        .map(|step| (step.time_s, step.direction, step.seq.unwrap(), step.ack))
        .collect();
    assert_eq!(steps, expected);
    let flags: Vec<&str> = detail
        .ladder
        .steps
        .iter()
        .map(|step| step.flags.as_str())
        .collect();
    assert_eq!(flags[..5], ["SYN", "SYN, ACK", "ACK", "ACK", "PSH, ACK"]);
    assert_eq!(flags[7..], ["FIN, ACK", "FIN, ACK", "ACK"]);
    assert_eq!(detail.ladder.steps[2].window_bytes, Some(14_624));
}

#[test]
fn every_message_of_the_echo_is_found_each_way() {
    let summary = analyse(OFFLOADED).summary;
    assert_eq!((summary.totals.frames, summary.flows.len()), (182, 2));
    let powers: Vec<u64> = (0..17).map(|power| 1 << power).collect();
    for flow in &summary.flows {
        let tcp = flow.tcp.as_ref().unwrap();
        let responses = tcp.responses.as_ref().unwrap();
        let sizes = &responses.sizes;
        assert!(
            sizes
                .iter()
                .all(|size| size.request_bytes == size.response_bytes && size.n == 1)
        );
        let found: Vec<u64> = sizes.iter().map(|size| size.request_bytes.get()).collect();
        assert_eq!(tcp.to_client.unique_bytes.get(), powers.iter().sum::<u64>());
        if flow.number == 1 {
            // The server resets the connection before the last 376 bytes of the last message have left: its window was full.
            assert_eq!(found[..16], powers[..16]);
            assert_eq!(found[16..], [65_536 - 376]);
        } else {
            // In frame 163 the client sends its last message before the echo of the one before it is complete (50 143 of 65 535
            // bytes): nothing on the wire parts the two.
            assert_eq!(found[..15], powers[..15]);
            assert_eq!(found[15..], [32_768 + 65_536]);
        }
        assert_eq!((responses.overlapped, responses.stop_and_wait), (1, false));
    }
}

#[test]
fn frames_up_to_21786_bytes_are_named_super_packets() {
    let summary = analyse(OFFLOADED).summary;
    let mut largest = 0;
    for flow in &summary.flows {
        let tcp = flow.tcp.as_ref().unwrap();
        let (up, down) = (&tcp.to_server.segmentation, &tcp.to_client.segmentation);
        for side in [up, down] {
            assert!(side.super_packets >= 9);
            assert_eq!(side.segment_bytes, Some(1448));
            assert!(side.wire_segments >= 131_071 / 1448);
            largest = largest.max(side.max_frame_bytes);
        }
        // The link was virtual: what the server handed over reached the client whole.
        for side in [up, down] {
            assert_eq!(
                side.offload,
                Some(Offload::SenderSegmentation),
                "{:?}",
                side.offload_reason
            );
        }
        assert_eq!(
            tcp.location.point,
            CapturePoint::NearClient,
            "{:?}",
            tcp.location
        );
    }
    assert_eq!(largest, 21_786);
    let tcp = summary
        .flows
        .iter()
        .find(|flow| flow.number == 1)
        .and_then(|flow| flow.tcp.as_ref())
        .unwrap();
    let counts = [&tcp.to_server, &tcp.to_client].map(|side| side.segmentation.super_packets);
    assert_eq!(counts, [10, 16]);
    let finding = summary
        .findings
        .iter()
        .find(|finding| finding.code == FindingCode::SuperPackets);
    assert_eq!(finding.unwrap().frames.len(), 8);
}

#[test]
fn pieces_of_any_size_give_the_same_result() {
    let whole = analyse_in(OFFLOADED, 1 << 22, &detailed());
    for piece in [1, 7, 24, 1_000, 65_536] {
        assert_eq!(analyse_in(OFFLOADED, piece, &detailed()), whole, "{piece}");
    }
}

#[test]
fn the_document_reads_back() {
    let summary = analyse(OFFLOADED).summary;
    let text = serde_json::to_string(&summary).unwrap();
    assert!(text.starts_with(r#"{"schema":"caudal.pcap/1""#));
    let again: caudal_capture::CaptureSummary = serde_json::from_str(&text).unwrap();
    assert_eq!(again, summary);
}
