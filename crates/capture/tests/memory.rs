//! How much memory captures take that were made to take much.
//!
//! Each case runs in a process of its own, which reports by how much its resident memory grew at most (VmHWM of proc(5)).
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

use caudal_capture::{
    AnalysisOptions, CaptureAnalysis, CaptureReport, CapturedFrame, FlowSelector, FrameOrigin,
    LinkType,
};
use std::process::Command;

/// What an analysis may take beside the flows that are open.
const MAX_BYTES: u64 = 64 << 20;
/// What an open flow of a few frames may take.
const MAX_FLOW_BYTES: u64 = 8 << 10;
/// Names the case that this process runs.
const CASE: &str = "CAUDAL_MEMORY_CASE";

const FIN_ACK: u8 = 17;
const SYN: u8 = 2;
const SYN_ACK: u8 = 18;
const ACK: u8 = 16;
const PSH_ACK: u8 = 24;

/// A line of /proc/self/status in bytes.
fn status_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    let kilobytes = line.split_whitespace().nth(1).unwrap();
    kilobytes.parse::<u64>().unwrap() << 10
}

/// Runs `workload` in another process, and checks that it ended well and took at most `limit` bytes.
fn takes_at_most(limit: u64, case: &str, workload: fn()) {
    if std::env::var(CASE).is_ok_and(|wanted| wanted == case) {
        let before = status_bytes("VmRSS:");
        workload();
        println!("peak {}", status_bytes("VmHWM:").saturating_sub(before));
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", case, "--include-ignored", "--nocapture"])
        .env(CASE, case)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (_, figure) = text.split_once("peak ").unwrap();
    let peak: u64 = figure.lines().next().unwrap().parse().unwrap();
    println!("{case}: {} KiB of {}", peak >> 10, limit >> 10);
    assert!(peak <= limit, "{case} took {peak} bytes of {limit}");
}

/// A packet of IPv4, whose fields are set in place.
struct Packet(Vec<u8>);

impl Packet {
    fn new(protocol: u8, transport_bytes: usize) -> Self {
        let mut bytes = vec![0; 20 + transport_bytes];
        (bytes[0], bytes[6], bytes[8], bytes[9]) = (0x45, 0x40, 64, protocol);
        let total = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        if protocol == 6 {
            bytes[32] = 0x50;
        }
        Self(bytes)
    }

    fn set<const N: usize>(&mut self, at: usize, value: [u8; N]) -> &mut Self {
        self.0[at..at + N].copy_from_slice(&value);
        self
    }

    /// Addresses and ports of a flow, in one of its directions.
    fn ends(&mut self, flow: u32, up: bool) -> &mut Self {
        let client = 0x0a00_0000 | flow >> 8;
        let (server, ports) = (0xc000_0201_u32, [0x8000 | flow as u16 & 0xff, 5201]);
        let (one, other) = if up {
            (client, server)
        } else {
            (server, client)
        };
        let (from, to) = if up { (0, 1) } else { (1, 0) };
        self.set(12, one.to_be_bytes()).set(16, other.to_be_bytes());
        self.set(20, ports[from].to_be_bytes())
            .set(22, ports[to].to_be_bytes())
    }

    fn tcp(&mut self, flags: u8, seq: u32, ack: u32, window: u16) -> &mut Self {
        self.set(24, seq.to_be_bytes()).set(28, ack.to_be_bytes());
        self.set(33, [flags]).set(34, window.to_be_bytes())
    }

    /// Hands the first bytes over as a frame that had `original` bytes.
    fn push(&self, analysis: &mut CaptureAnalysis, at_ns: u64) {
        self.push_original(analysis, at_ns, self.0.len() as u32);
    }

    fn push_original(&self, analysis: &mut CaptureAnalysis, at_ns: u64, original_bytes: u32) {
        analysis.frame(&CapturedFrame {
            interface: 0,
            capture: 0,
            link_type: LinkType::Raw,
            at_ns: Some(at_ns),
            original_bytes,
            data: &self.0,
            origin: FrameOrigin::Unknown,
            gso: None,
        });
    }
}

/// Every flow with a request and a response 20 ms later, of which three of four are closed.
fn short_flows(flows: u32) -> CaptureReport {
    let mut analysis = CaptureAnalysis::new(&AnalysisOptions::default());
    let (mut empty, mut data) = (Packet::new(6, 20), Packet::new(6, 220));
    for flow in 0..flows {
        let at = u64::from(flow) * 10_000;
        let mut control = |after_ms: u64, up, flags, seq, ack| {
            empty.ends(flow, up).tcp(flags, seq, ack, 60_000);
            empty.push(&mut analysis, at + after_ms * 1_000_000);
        };
        control(0, true, SYN, 1_000, 0);
        control(10, false, SYN_ACK, 5_000, 1_001);
        control(10, true, ACK, 1_001, 5_001);
        data.ends(flow, true).tcp(PSH_ACK, 1_001, 5_001, 60_000);
        data.push(&mut analysis, at + 11_000_000);
        data.ends(flow, false).tcp(PSH_ACK, 5_001, 1_201, 60_000);
        data.push(&mut analysis, at + 31_000_000);
        if !flow.is_multiple_of(4) {
            let mut control = |up, seq, ack| {
                empty.ends(flow, up).tcp(FIN_ACK, seq, ack, 60_000);
                empty.push(&mut analysis, at + 40_000_000);
            };
            control(true, 1_201, 5_201);
            control(false, 5_201, 1_202);
        }
    }
    analysis.finish()
}

fn check_short_flows(flows: u32) {
    let summary = short_flows(flows).summary;
    let folded = summary.folded.unwrap();
    assert_eq!(summary.totals.flows, u64::from(flows));
    assert_eq!(
        (summary.flows.len(), folded.flows),
        (1000, u64::from(flows) - 1000)
    );
    let frames: u64 = summary.flows.iter().map(|flow| flow.frames).sum();
    assert_eq!(frames + folded.frames, summary.totals.frames);
}

const OPEN_FLOWS: u64 = 65_536;

#[test]
fn flows_beyond_those_that_are_open_take_no_memory() {
    takes_at_most(
        MAX_BYTES + OPEN_FLOWS * MAX_FLOW_BYTES,
        "flows_beyond_those_that_are_open_take_no_memory",
        || check_short_flows(150_000),
    );
}

#[test]
#[ignore = "takes minutes"]
fn ten_million_flows_take_no_more_memory() {
    takes_at_most(
        MAX_BYTES + OPEN_FLOWS * MAX_FLOW_BYTES,
        "ten_million_flows_take_no_more_memory",
        || check_short_flows(10_000_000),
    );
}

/// An analysis of everything that can be asked for, of few flows at a time.
fn detailed() -> CaptureAnalysis {
    CaptureAnalysis::new(&AnalysisOptions {
        detail: Some(FlowSelector::Number(1)),
        max_open_flows: 16,
        ..AnalysisOptions::default()
    })
}

#[test]
fn a_flow_of_gaps_and_selective_acknowledgements_is_bounded() {
    let case = "a_flow_of_gaps_and_selective_acknowledgements_is_bounded";
    takes_at_most(MAX_BYTES, case, || {
        let mut analysis = detailed();
        let mut data = Packet::new(6, 21);
        let mut ack = Packet::new(6, 20 + 36);
        // Eight words of options: NOP, NOP, SACK with four blocks.
        ack.set(32, [0xe0]).set(40, [1, 1, 5, 34]);
        for at in 0..400_000_u32 {
            let seq = 1_000_u32.wrapping_add(at.wrapping_mul(7));
            data.ends(1, true).tcp(ACK, seq, 1, 1_000);
            data.set(4, (at as u16 | 1).to_be_bytes());
            data.push(&mut analysis, u64::from(at) * 300_000);
            ack.ends(1, false).tcp(ACK, 1, 1_000, (at % 3) as u16);
            for block in 0..4_u32 {
                let edge = seq.wrapping_sub(block * 7);
                ack.set(44 + block as usize * 8, edge.to_be_bytes());
                ack.set(48 + block as usize * 8, (edge + 1).to_be_bytes());
            }
            ack.push(&mut analysis, u64::from(at) * 300_000 + 1_000);
        }
        let report = analysis.finish();
        let tcp = report.summary.flows[0].tcp.as_ref().unwrap();
        assert_eq!(tcp.to_client.sack_blocks, 1_600_000);
        assert_eq!(tcp.to_server.missing_bytes.get(), 399_999 * 6);
    });
}

#[test]
fn a_flow_of_exchanges_of_any_size_is_bounded() {
    let case = "a_flow_of_exchanges_of_any_size_is_bounded";
    takes_at_most(MAX_BYTES, case, || {
        let mut analysis = detailed();
        let mut packet = Packet::new(6, 1_480);
        let (mut up, mut down) = (1_000_u32, 1_000_u32);
        for at in 0..400_000_u32 {
            let bytes = 1 + at % 1_400;
            let time = u64::from(at) * u64::from(at) * 10;
            packet.set(2, (40 + bytes as u16).to_be_bytes());
            packet.set(4, (at as u16 | 1).to_be_bytes());
            packet.ends(1, true).tcp(PSH_ACK, up, down, 60_000);
            packet.push(&mut analysis, time);
            up = up.wrapping_add(bytes);
            packet.ends(1, false).tcp(PSH_ACK, down, up, 60_000);
            packet.push(&mut analysis, time + u64::from(at) * 5);
            down = down.wrapping_add(bytes);
        }
        let report = analysis.finish();
        let detail = report.detail.unwrap();
        assert_eq!(detail.ladder.left_out, 800_000 - 1_000);
        assert!(
            detail
                .graphs
                .iter()
                .flat_map(|graph| &graph.series)
                .all(|series| series.points.len() <= 4_096)
        );
    });
}

#[test]
fn fragments_without_the_others_are_bounded() {
    let case = "fragments_without_the_others_are_bounded";
    takes_at_most(MAX_BYTES, case, || {
        let mut analysis = detailed();
        let mut packet = Packet::new(17, 64);
        for at in 0..1_000_000_u32 {
            packet
                .ends(at >> 12, true)
                .set(4, (at as u16).to_be_bytes());
            // More follow; of every other packet a part in the middle alone.
            packet.set(
                6,
                (0x2000 | (at % 2 * (at >> 5 & 0x1fff)) as u16).to_be_bytes(),
            );
            packet.push(&mut analysis, u64::from(at));
        }
        let summary = analysis.finish().summary;
        assert_eq!(summary.totals.frames, 1_000_000);
    });
}

#[test]
fn frames_that_claim_any_length_are_bounded() {
    let case = "frames_that_claim_any_length_are_bounded";
    takes_at_most(MAX_BYTES, case, || {
        let mut analysis = detailed();
        let mut packet = Packet::new(6, 20);
        packet.set(2, [0, 0]);
        for at in 0..200_000_u32 {
            let original = at.wrapping_mul(2_654_435_761).max(40);
            packet
                .ends(1, true)
                .tcp(ACK, at.wrapping_mul(77_777), at, 1);
            packet.set(4, (at as u16 | 1).to_be_bytes());
            packet.push_original(&mut analysis, u64::from(at) * 1_000_000, original);
        }
        assert_eq!(analysis.finish().summary.totals.frames, 200_000);
    });
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = 12 + body.len() as u32;
    let mut bytes = [kind.to_le_bytes(), length.to_le_bytes()].concat();
    bytes.extend_from_slice(body);
    bytes.extend(length.to_le_bytes());
    bytes
}

fn section() -> Vec<u8> {
    let mut body = 0x1A2B_3C4D_u32.to_le_bytes().to_vec();
    body.extend([1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    block(0x0A0D_0D0A, &body)
}

#[test]
fn text_of_a_file_is_bounded() {
    let case = "text_of_a_file_is_bounded";
    takes_at_most(MAX_BYTES, case, || {
        let mut analysis = detailed();
        analysis.begin_file("text".into());
        let mut body = vec![1, 0, 0, 0, 0, 0, 0, 0];
        for code in [1, 2, 3, 11_u16] {
            // Bytes that are no UTF-8 take three each as text.
            body.extend(code.to_le_bytes());
            body.extend(65_532_u16.to_le_bytes());
            body.push(0);
            body.resize(body.len() + 65_531, 0xff);
        }
        let interface = block(1, &body);
        analysis.push(&section()).unwrap();
        for _ in 0..4_096 {
            analysis.push(&interface).unwrap();
        }
        let summary = analysis.finish().summary;
        assert_eq!(summary.files[0].interfaces.len(), 4_096);
        assert!(summary.files[0].interfaces[0].name.is_some());
    });
}

#[test]
fn a_block_that_comes_in_small_pieces_is_bounded() {
    let case = "a_block_that_comes_in_small_pieces_is_bounded";
    takes_at_most(MAX_BYTES, case, || {
        let mut analysis = detailed();
        analysis.begin_file("large blocks".into());
        analysis.push(&section()).unwrap();
        let large = 16_u32 << 20;
        for _ in 0..3 {
            analysis.push(&0x0bad_u32.to_le_bytes()).unwrap();
            analysis.push(&large.to_le_bytes()).unwrap();
            for _ in 0..(large - 12) / 1_000 {
                analysis.push(&[0; 1_000]).unwrap();
            }
            analysis
                .push(&vec![0; (large as usize - 12) % 1_000])
                .unwrap();
            analysis.push(&large.to_le_bytes()).unwrap();
        }
        let report = analysis.finish();
        assert_eq!(report.summary.files[0].cut_short, None);
        assert_eq!(
            report.summary.files[0].file_bytes.get(),
            28 + 3 * (16 << 20)
        );
    });
}

#[test]
fn findings_of_flows_without_end_are_bounded() {
    let case = "findings_of_flows_without_end_are_bounded";
    takes_at_most(MAX_BYTES, case, || {
        let mut analysis = detailed();
        let mut packet = Packet::new(6, 1_200);
        for flow in 0..30_000_u32 {
            for part in [0, 9, 5, 5, 2, 30_u32] {
                packet.ends(flow, true).tcp(ACK, part * 1_180, 7, 0);
                packet
                    .set(1, [part as u8 * 4 + 3])
                    .set(8, [64 - part as u8]);
                packet.set(4, (part as u16 + 1).to_be_bytes());
                packet.push(&mut analysis, u64::from(flow * 8 + part) * 300_000_000);
            }
        }
        let summary = analysis.finish().summary;
        assert_eq!(summary.findings.len(), 500);
        assert!(summary.findings_left_out > 100_000);
        assert!(
            summary
                .findings
                .iter()
                .all(|finding| finding.frames.len() <= 8)
        );
    });
}
