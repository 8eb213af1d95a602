//! What the capture of a test shows.

use caudal_capture::{
    AnalysisOptions, CaptureAnalysis, CaptureSummary, CapturedFlow, CapturedTransport, Finding,
    FindingCode, HandshakeKind, RecognisedProtocol,
};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The bytes that are read at once.
const PIECE: usize = 1 << 20;

/// The number of flows in a capture, and the findings on those of the test; `None` when it cannot be read. Of a capture that is not
/// complete frames are missing.
pub(crate) fn findings(path: &Path, is_complete: bool) -> Option<(u64, Vec<Finding>)> {
    let mut analysis = CaptureAnalysis::new(&AnalysisOptions::default());
    analysis.begin_file(path.display().to_string().into());
    let mut file = File::open(path).ok()?;
    let mut piece = vec![0; PIECE];
    loop {
        let length = file.read(&mut piece).ok()?;
        if length == 0 {
            break;
        }
        analysis.push(&piece[..length]).ok()?;
    }
    let CaptureSummary {
        totals,
        flows,
        findings,
        ..
    } = analysis.finish().summary;
    let tcp = flows
        .iter()
        .filter(|flow| flow.transport == CapturedTransport::Tcp);
    let first = tcp.map(|flow| flow.number).min();
    let of_control: BTreeSet<u64> = flows
        .iter()
        .filter(|flow| is_control(flow, is_complete || first == Some(flow.number)))
        .map(|flow| flow.number)
        .collect();
    let kept = findings.into_iter().filter(|finding| {
        // A test keeps the headers alone, and was asked to. The kernel stamps what arrives before its stack has it, so that a frame sent
        // meanwhile is in front of an older one: the order in which this host saw them.
        !matches!(
            finding.code,
            FindingCode::FramesCutOff | FindingCode::TimeBackwards
        ) && finding.flow.is_none_or(|flow| !of_control.contains(&flow))
    });
    Some((totals.flows, kept.collect()))
}

/// `true` for a control connection: that which is open before the capture begins, and those of later runs. The handshake of a connection with
/// data can be among the frames that were dropped, so that `may_be_open` says whether its absence tells.
fn is_control(flow: &CapturedFlow, may_be_open: bool) -> bool {
    let handshake = flow.tcp.as_ref().map(|tcp| tcp.handshake.kind);
    let is_recognised = matches!(
        flow.application,
        Some(RecognisedProtocol::CaudalControl | RecognisedProtocol::Iperf3Control)
    );
    is_recognised || may_be_open && handshake == Some(HandshakeKind::NotCaptured)
}
