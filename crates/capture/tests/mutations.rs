//! Captures changed at random, always the same way.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod support;

use caudal_capture::{
    AnalysisOptions, CaptureAnalysis, CaptureError, CaptureFilter, CaptureReport, EndsRecorder,
    FlowSelector, FrameReader, GsoKind, GsoRecord, InterfaceDescription, InterfaceStatistics,
    PcapngEncoder, WrittenFrame, compare_ends,
};
use support::{OFFLOADED, SMALL};

/// Captures of every link header that is read, the large one without its end.
const CAPTURES: [&[u8]; 10] = [
    SMALL,
    OFFLOADED.first_chunk::<30_000>().unwrap(),
    include_bytes!("captures/vlan.pcap"),
    include_bytes!("captures/qinq.pcap"),
    include_bytes!("captures/cooked-v1.pcap"),
    include_bytes!("captures/cooked-v2.pcap"),
    include_bytes!("captures/raw-ip.pcap"),
    include_bytes!("captures/loopback.pcap"),
    include_bytes!("captures/ipv6-fragments.pcap"),
    include_bytes!("captures/quic.pcap"),
];

/// The frames of a file as pcapng, with all that frames can carry.
fn as_pcapng(file: &[u8]) -> Vec<u8> {
    let mut encoder = PcapngEncoder::new("mutations", "a comment");
    let mut frames = 0_u16;
    let mut take = |frame: &caudal_capture::CapturedFrame<'_>| {
        if frames == 0 {
            encoder.interface(&InterfaceDescription {
                name: "test0",
                link_type: frame.link_type,
                snap_bytes: 0,
                filter: "tcp",
            });
        }
        let size = 500 + frames;
        encoder.frame(&WrittenFrame {
            interface: 0,
            at_ns: frame.at_ns.unwrap(),
            original_bytes: frame.original_bytes,
            data: frame.data,
            origin: frame.origin,
            gso: frames.is_multiple_of(2).then_some(GsoRecord {
                kind: GsoKind::TcpV4,
                size,
            }),
            comment: "",
        });
        frames += 1;
    };
    FrameReader::new().push(file, &mut take).unwrap();
    encoder.statistics(&InterfaceStatistics {
        interface: 0,
        at_ns: 0,
        received: u64::from(frames),
        dropped: 1,
    });
    encoder.bytes().to_vec()
}

/// A generator of numbers: xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

const EDGES: [u32; 9] = [
    0,
    1,
    0x7f,
    0xff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fffe,
    0xffff_ffff,
];

/// One change of a file.
fn change(bytes: &mut Vec<u8>, others: &[Vec<u8>], numbers: &mut Numbers) {
    let at = numbers.below(bytes.len());
    let to = (at + numbers.below(300)).min(bytes.len());
    match numbers.below(10) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..to)),
        2 => bytes.extend_from_within(at..to),
        3 => {
            let other = &others[numbers.below(others.len())];
            bytes.truncate(at);
            bytes.extend_from_slice(&other[numbers.below(other.len())..]);
        }
        4 | 5 => {
            let value = EDGES[numbers.below(EDGES.len())];
            let value = match numbers.below(2) {
                0 => value.to_le_bytes(),
                _ => value.to_be_bytes(),
            };
            let width = 1 << numbers.below(3);
            for (byte, value) in bytes[at..].iter_mut().zip(&value[..width]) {
                *byte = *value;
            }
        }
        6 => bytes.iter_mut().skip(at).take(1).for_each(|byte| {
            *byte ^= 1 << numbers.below(8);
        }),
        _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| {
            *byte = numbers.next() as u8;
        }),
    }
    if bytes.is_empty() {
        bytes.push(numbers.next() as u8);
    }
}

fn check_error(error: &CaptureError, length: u64) {
    match error {
        // They are about the first bytes.
        CaptureError::NotACapture { .. }
        | CaptureError::Compressed { .. }
        | CaptureError::Unsupported { .. } => {}
        CaptureError::Damaged { offset, .. } => assert!(*offset < length, "{error}"),
        CaptureError::CutShort { offset, end } => {
            assert!(offset <= end && *end <= length, "{error}");
        }
    }
}

/// What does not hold for numbers that were counted rather than made up.
fn check_numbers(report: &CaptureReport) {
    let summary = &report.summary;
    let in_files: u64 = summary.files.iter().map(|file| file.frames).sum();
    assert_eq!(
        in_files,
        summary.totals.frames
            + summary.totals.filtered_frames
            + summary.totals.captured_twice_frames
    );
    let folded = summary.folded.as_ref().map_or(0, |folded| folded.frames);
    let in_flows: u64 = summary.flows.iter().map(|flow| flow.frames).sum();
    assert!(in_flows + folded <= summary.totals.frames);
    for flow in &summary.flows {
        let sides = [&flow.to_server, &flow.to_client];
        assert_eq!(
            flow.frames,
            sides.iter().map(|side| side.frames).sum::<u64>()
        );
        assert_eq!(
            flow.bytes.get(),
            sides.iter().map(|side| side.bytes.get()).sum::<u64>()
        );
        let Some(tcp) = &flow.tcp else { continue };
        for side in [&tcp.to_server, &tcp.to_client] {
            let rate: u64 = side.rate.unique_bytes.iter().sum();
            assert!(rate <= side.rate.payload_bytes.iter().sum());
            assert!(
                side.segmentation
                    .efficiency
                    .is_none_or(|share| share <= 1.0)
            );
        }
    }
}

fn analyse_pieces(bytes: &[u8], piece: usize) -> Result<CaptureReport, CaptureError> {
    let mut analysis = CaptureAnalysis::new(&AnalysisOptions {
        detail: Some(FlowSelector::Number(1)),
        max_open_flows: 16,
        max_flows: 20,
        ..AnalysisOptions::default()
    });
    analysis.begin_file("changed".into());
    for piece in bytes.chunks(piece) {
        analysis.push(piece)?;
    }
    Ok(analysis.finish())
}

fn check(bytes: &[u8], numbers: &mut Numbers) {
    let length = bytes.len() as u64;
    let whole = analyse_pieces(bytes, bytes.len());
    match &whole {
        Ok(report) => {
            check_numbers(report);
            for reason in report
                .summary
                .files
                .iter()
                .filter_map(|file| file.cut_short.as_ref())
            {
                assert!(reason.as_received().contains("at byte "), "{reason}");
            }
        }
        Err(error) => check_error(error, length),
    }
    let pieces = analyse_pieces(bytes, 1 + numbers.below(2_000));
    assert_eq!(whole, pieces, "the size of the pieces matters");
    let mut recorder = EndsRecorder::new(CaptureFilter::default());
    if let Err(error) = recorder.push(bytes) {
        check_error(&error, length);
    }
    let _ = compare_ends(&recorder, &recorder);
}

fn check_changed(inputs: u32, seed: u64) {
    let mut files: Vec<Vec<u8>> = CAPTURES.iter().map(|file| file.to_vec()).collect();
    files.extend(CAPTURES.iter().map(|file| as_pcapng(file)));
    let mut numbers = Numbers(seed);
    for input in 0..inputs {
        let mut bytes = files[numbers.below(files.len())].clone();
        // Short files have more of their headers changed.
        bytes.truncate(200 + numbers.below(bytes.len()));
        for _ in 0..=numbers.below(12) {
            change(&mut bytes, &files, &mut numbers);
        }
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(&bytes, &mut numbers);
        }));
        assert!(outcome.is_ok(), "input {input} of seed {seed}");
    }
}

#[test]
fn changed_captures_end_in_a_report_or_an_error_with_its_offset() {
    check_changed(20_000, 0x5eed);
}

#[test]
#[ignore = "takes minutes"]
fn many_changed_captures_end_in_a_report_or_an_error_with_its_offset() {
    for seed in 1..=20 {
        check_changed(25_000, seed);
    }
}
