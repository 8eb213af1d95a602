//! The command `caudal pcap`.

use super::args::PcapArgs;
use super::choice::{AnalysedCapture, analyse};
use super::ends::compare;
use super::pieces::{PieceReader, ReadingEnd};
use super::source::CaptureSource;
use super::write::write_capture;
use crate::exit::{Exit, Failure};
use crate::output::diagnostic;
use caudal_capture::{CaptureSummary, Finding, FindingCode};
use caudal_sys::signal::Interrupt;

/// Runs `caudal pcap`.
///
/// # Errors
/// When a file cannot be read or is no capture, there is no such flow, or the output cannot be written.
pub fn pcap(args: &PcapArgs, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let output = args.output.output.as_deref();
    let mut reader = PieceReader::new(interrupt);
    if let (Some(sender), Some(receiver)) = (&args.sender, &args.receiver) {
        let sources = CaptureSource::from_arguments([sender, receiver], output)?;
        return compare(args, &sources[0], &sources[1], &mut reader);
    }
    let sources = CaptureSource::from_arguments(&args.files, output)?;
    let capture = analyse(args, &sources, &mut reader)?;
    write_capture(args, &capture)?;
    Ok(end(&capture, &sources))
}

/// The outcome: a capture that was not read to its end is cut short, one in which nothing could be read tells nothing, and a line says so.
fn end(capture: &AnalysedCapture, sources: &[CaptureSource]) -> Exit {
    if capture.end == ReadingEnd::Complete {
        let Some(finding) = nothing_read(&capture.report.summary) else {
            return Exit::Done;
        };
        let (message, remedy) = (&finding.message, &finding.remedy);
        let source = match sources {
            [only] => format!("{only}: "),
            _ => String::new(),
        };
        diagnostic(&format!("{source}{message}: {remedy}"));
        return Exit::Failed;
    }
    let frames = capture.report.summary.totals.frames;
    diagnostic(&format!(
        "interrupted: the numbers are those of the first {frames} frames"
    ));
    Exit::Failed
}

/// The finding that says why a capture has frames and no flow; `None` for all other captures.
fn nothing_read(summary: &CaptureSummary) -> Option<&Finding> {
    let totals = &summary.totals;
    if totals.frames == 0 || totals.flows > 0 || totals.filtered_frames > 0 {
        return None;
    }
    let mut findings = summary.findings.iter();
    findings.find(|finding| {
        matches!(
            finding.code,
            FindingCode::UnknownLinkType | FindingCode::NoFlow
        )
    })
}
