//! Nanoseconds for each frame of a capture, in memory: `cargo bench -p caudal-capture`.
//!
//! Frames of 1514 bytes with an acknowledgement after every second, in one flow and in many that take turns: 1, 100 and 10 000, or the
//! numbers behind `--`.
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on says where"
)]

use caudal_capture::{
    AnalysisOptions, CaptureAnalysis, FrameOrigin, InterfaceDescription, LinkType, PcapngEncoder,
    WrittenFrame,
};
use std::hint::black_box;
use std::time::Instant;

/// Frames of one run.
const FRAMES: u32 = 120_000;
/// Runs, of which the fastest counts.
const RUNS: usize = 9;

fn frame(flow: u16, up: bool, numbers: (u32, u32), stamp: u32, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; 12];
    bytes.extend([8, 0, 0x45, 0]);
    bytes.extend(((52 + payload) as u16).to_be_bytes());
    bytes.extend((stamp as u16).to_be_bytes());
    bytes.extend([0x40, 0, 64, 6, 0, 0]);
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let ports = [flow.to_be_bytes(), 5201_u16.to_be_bytes()];
    if up {
        bytes.extend([client, server].concat());
        bytes.extend(ports.concat());
    } else {
        bytes.extend([server, client].concat());
        bytes.extend([ports[1], ports[0]].concat());
    }
    bytes.extend(numbers.0.to_be_bytes());
    bytes.extend(numbers.1.to_be_bytes());
    bytes.extend([0x80, 0x10, 0xff, 0xff, 0x12, 0x34, 0, 0, 1, 1, 8, 10]);
    bytes.extend(stamp.to_be_bytes());
    bytes.extend(stamp.wrapping_sub(1).to_be_bytes());
    bytes.resize(bytes.len() + payload, 0x55);
    bytes
}

/// A classic file of frames in `flows` flows.
fn pcap(flows: u16) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xA1B2_3C4D_u32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    each_frame(flows, |at_us, bytes| {
        for word in [
            at_us / 1_000_000,
            at_us % 1_000_000 * 1_000,
            bytes.len() as u32,
            bytes.len() as u32,
        ] {
            file.extend(word.to_le_bytes());
        }
        file.extend(bytes);
    });
    file
}

fn pcapng(flows: u16) -> Vec<u8> {
    let mut encoder = PcapngEncoder::new("bench", "");
    encoder.interface(&InterfaceDescription {
        name: "eth0",
        link_type: LinkType::Ethernet,
        snap_bytes: 0,
        filter: "",
    });
    each_frame(flows, |at_us, bytes| {
        encoder.frame(&WrittenFrame {
            interface: 0,
            at_ns: u64::from(at_us) * 1_000,
            original_bytes: bytes.len() as u32,
            data: bytes,
            origin: FrameOrigin::Sent,
            gso: None,
            comment: "",
        });
    });
    encoder.bytes().to_vec()
}

fn each_frame(flows: u16, mut take: impl FnMut(u32, &[u8])) {
    let mut sent = vec![1_u32; usize::from(flows)];
    for at in 0..FRAMES {
        let flow = (at / 3 % u32::from(flows)) as u16;
        let seq = &mut sent[usize::from(flow)];
        let bytes = if at % 3 < 2 {
            let bytes = frame(10_000 + flow, true, (*seq, 1), at / 100 + 1, 1448);
            *seq = seq.wrapping_add(1448);
            bytes
        } else {
            frame(10_000 + flow, false, (1, *seq), at / 100 + 1, 0)
        };
        take(at * 12, &bytes);
    }
}

fn least(file: &[u8]) -> f64 {
    let runs = (0..RUNS).map(|_| {
        let begun = Instant::now();
        let mut analysis = CaptureAnalysis::new(&AnalysisOptions::default());
        analysis.begin_file("bench".into());
        for piece in file.chunks(4 << 20) {
            analysis.push(piece).unwrap();
        }
        let report = black_box(analysis.finish());
        let ns = begun.elapsed().as_nanos() as f64;
        assert_eq!(report.summary.totals.frames, u64::from(FRAMES));
        ns / f64::from(FRAMES)
    });
    runs.fold(f64::INFINITY, f64::min)
}

fn main() {
    println!("format    flows   ns/frame   GB/s   (least of {RUNS})");
    let asked: Vec<u16> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let numbers: &[u16] = if asked.is_empty() {
        &[1, 100, 10_000]
    } else {
        &asked
    };
    for &flows in numbers {
        for (name, file) in [("pcap", pcap(flows)), ("pcapng", pcapng(flows))] {
            let ns = least(&file);
            let rate = file.len() as f64 / f64::from(FRAMES) / ns;
            println!("{name:<9} {flows:>5} {ns:>10.1} {rate:>6.1}");
        }
    }
}
