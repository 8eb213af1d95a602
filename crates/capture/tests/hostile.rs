//! Files that nobody should have written.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod support;

use caudal_capture::{AnalysisOptions, CaptureAnalysis, CaptureError, FindingCode, FlowSelector};
use proptest::prelude::*;
use support::build::{handshake, tcp_file};
use support::{OFFLOADED, SMALL, analyse};

fn survives(bytes: &[u8], piece: usize) {
    let options = AnalysisOptions {
        detail: Some(FlowSelector::Number(1)),
        max_open_flows: 16,
        ..AnalysisOptions::default()
    };
    let mut analysis = CaptureAnalysis::new(&options);
    analysis.begin_file("hostile".into());
    for piece in bytes.chunks(piece) {
        if analysis.push(piece).is_err() {
            break;
        }
    }
    let report = analysis.finish();
    serde_json::to_string(&report.summary).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_end_in_a_report_or_an_error(bytes: Vec<u8>, piece in 1..100_usize) {
        survives(&bytes, piece);
    }

    #[test]
    fn captures_with_any_bytes_changed_end_in_a_report(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
        piece in 1..5_000_usize,
    ) {
        let written = tcp_file(&handshake());
        for file in [SMALL, &OFFLOADED[..60_000], &written] {
            let mut bytes = file.to_vec();
            for (at, value) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            bytes.truncate(cut.index(bytes.len()) + 1);
            survives(&bytes, piece);
        }
    }

    #[test]
    fn headers_with_any_bytes_changed_end_in_a_report(
        changes in proptest::collection::vec((0..70_usize, any::<u8>()), 1..10),
        frame in 0..10_usize,
    ) {
        // The frames of the small file: 16 bytes of record header each.
        let mut at = 24;
        let mut bytes = SMALL.to_vec();
        for _ in 0..frame {
            at += 16 + u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        }
        for (offset, value) in changes {
            if let Some(byte) = bytes.get_mut(at + 16 + offset) {
                *byte = value;
            }
        }
        survives(&bytes, 1 << 20);
    }
}

#[test]
fn a_cut_record_is_a_finding_with_its_offset() {
    let summary = analyse(&SMALL[..SMALL.len() - 5]).summary;
    assert_eq!(summary.totals.frames, 9);
    let finding = summary
        .findings
        .iter()
        .find(|finding| finding.code == FindingCode::CutShort)
        .unwrap();
    assert_eq!(
        finding.message.as_received(),
        "test: the file ends at byte 2903, in the middle of the record at byte 2826"
    );
}

#[test]
fn a_record_without_bytes_at_the_end_of_a_piece_is_a_frame() {
    let mut bytes = SMALL.to_vec();
    bytes.extend_from_within(24..40);
    let at = bytes.len() - 8;
    bytes[at..].fill(0);
    for piece in [bytes.len(), bytes.len() - 1, bytes.len() - 10, 7] {
        let summary = support::analyse_in(&bytes, piece, &AnalysisOptions::default()).summary;
        assert_eq!(
            (summary.totals.frames, &summary.files[0].cut_short),
            (11, &None)
        );
    }
}

#[test]
fn a_damaged_record_ends_the_file_and_says_where() {
    let mut bytes = SMALL.to_vec();
    bytes[24 + 16 + 74 + 11] = 0x7f;
    let summary = analyse(&bytes).summary;
    assert_eq!(summary.totals.frames, 1);
    let reason = summary.files[0].cut_short.as_ref().unwrap();
    assert!(
        reason.as_received().starts_with("damaged at byte 114"),
        "{reason}"
    );
}

#[test]
fn a_record_of_a_frame_that_no_link_carries_is_damaged() {
    let mut bytes = SMALL.to_vec();
    bytes[24 + 12..24 + 16].copy_from_slice(&u32::MAX.to_le_bytes());
    let summary = analyse(&bytes).summary;
    assert_eq!((summary.totals.frames, summary.totals.bytes.get()), (0, 0));
    let reason = summary.files[0].cut_short.as_ref().unwrap();
    assert!(
        reason.as_received().starts_with("damaged at byte 24"),
        "{reason}"
    );
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let error = |bytes: &[u8]| {
        let mut analysis = CaptureAnalysis::new(&AnalysisOptions::default());
        analysis.begin_file("test".into());
        analysis.push(bytes).unwrap_err()
    };
    assert_eq!(
        error(&[0x1f, 0x8b, 8, 0]),
        CaptureError::Compressed { with: "gzip" }
    );
    assert_eq!(
        error(b"hello"),
        CaptureError::NotACapture { magic: 0x6865_6c6c }
    );
}

#[test]
fn many_flows_are_folded_and_none_is_lost() {
    let packets: Vec<_> = (0..20_000_u32)
        .map(|at| {
            let address = [10, 1, (at >> 8) as u8, at as u8];
            let datagram = support::build::udp(1_000, 2_000, &[0; 20]);
            (
                u64::from(at),
                support::build::ipv4(17, address, [10, 0, 0, 1], 1, 0, &datagram),
            )
        })
        .collect();
    let options = AnalysisOptions {
        max_flows: 10,
        max_open_flows: 100,
        ..AnalysisOptions::default()
    };
    let summary = support::analyse_in(&support::build::file(&packets), 4_096, &options).summary;
    let folded = summary.folded.unwrap();
    assert_eq!(
        (summary.totals.flows, summary.flows.len(), folded.flows),
        (20_000, 10, 19_990)
    );
    let shown: u64 = summary.flows.iter().map(|flow| flow.frames).sum();
    assert_eq!(shown + folded.frames, 20_000);
    assert!(summary.findings.len() <= options.max_findings);
}
