//! What the tests share.
#![allow(dead_code, reason = "no test needs all of it")]

pub mod build;

use caudal_capture::{AnalysisOptions, CaptureAnalysis, CaptureReport};

pub const SMALL: &[u8] = include_bytes!("../captures/seed000-2048-bytes.pcap");
pub const OFFLOADED: &[u8] = include_bytes!("../captures/seed000-offload-on.pcap");

/// Analyses a file that comes in pieces of this size.
pub fn analyse_in(bytes: &[u8], piece: usize, options: &AnalysisOptions) -> CaptureReport {
    let mut analysis = CaptureAnalysis::new(options);
    analysis.begin_file("test".into());
    for piece in bytes.chunks(piece) {
        analysis.push(piece).expect("a capture");
    }
    analysis.finish()
}

/// Analyses a file.
pub fn analyse(bytes: &[u8]) -> CaptureReport {
    analyse_in(bytes, 1 << 20, &AnalysisOptions::default())
}
