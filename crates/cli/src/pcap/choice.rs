//! The flow that is shown or drawn: the one asked for, the only one, or the largest.

use super::args::PcapArgs;
use super::pieces::{PieceReader, ReadingEnd};
use super::source::CaptureSource;
use crate::exit::{Exit, Failure};
use caudal_capture::{
    AnalysisOptions, CaptureAnalysis, CaptureReport, CaptureSummary, CapturedFlow, FlowSelector,
};
use caudal_views::pcap::ChosenFlow;

/// A capture that was read, with the flow that is shown of it.
#[derive(Debug)]
pub(super) struct AnalysedCapture {
    /// What it tells; the detail is that of the flow.
    pub(super) report: CaptureReport,
    /// The flow asked for, or that is drawn; `None` where the capture as a whole is shown.
    pub(super) flow: Option<ChosenFlow>,
    /// How the reading ended.
    pub(super) end: ReadingEnd,
}

/// Reads the sources, and what is needed of one flow.
///
/// # Errors
/// When a source cannot be read or is no capture, or there is no such flow.
pub(super) fn analyse(
    args: &PcapArgs,
    sources: &[CaptureSource],
    reader: &mut PieceReader<'_>,
) -> Result<AnalysedCapture, Failure> {
    let views = &args.views;
    // Most captures that are drawn have one flow; where there are several, the largest is found by reading them first.
    let guess = views.flow.or_else(|| views.is_drawn().then_some(1));
    let (mut report, mut end) = read(args, sources, reader, guess)?;
    let flow = match (guess, views.flow) {
        (None, _) => None,
        (Some(_), Some(number)) => Some(ChosenFlow {
            flow: numbered(&report.summary, number)?,
            why: String::new(),
        }),
        (Some(guess), None) => {
            let largest = report.summary.flows.first().cloned();
            let flow = largest.ok_or_else(|| nothing_to_draw(&report.summary))?;
            let flows = report.summary.totals.flows;
            if flow.number != guess {
                if !sources.iter().all(CaptureSource::can_be_read_again) {
                    return Err(Failure::usage(
                        format!(
                            "there are {flows} flows, and what comes through a pipe is read once"
                        ),
                        format!("give --flow {}, the largest", flow.number),
                    ));
                }
                (report, end) = read(args, sources, reader, Some(flow.number))?;
            }
            let why = match report.summary.totals.flows {
                1 => "the only one".to_owned(),
                n => format!("the largest of {n}"),
            };
            Some(ChosenFlow { flow, why })
        }
    };
    Ok(AnalysedCapture { report, flow, end })
}

/// Reads the sources once, with the details of a flow.
fn read(
    args: &PcapArgs,
    sources: &[CaptureSource],
    reader: &mut PieceReader<'_>,
    flow: Option<u64>,
) -> Result<(CaptureReport, ReadingEnd), Failure> {
    let mut analysis = CaptureAnalysis::new(&AnalysisOptions {
        filter: args.filter.clone().unwrap_or_default(),
        detail: flow.map(FlowSelector::Number),
        ladder_from_frame: args.views.from_frame.unwrap_or_default(),
        ..AnalysisOptions::default()
    });
    let mut end = ReadingEnd::Complete;
    let mut begun = 0;
    for source in sources {
        analysis.begin_file(source.to_string().into());
        begun += 1;
        match reader.read(source, |piece| analysis.push(piece))? {
            ReadingEnd::Complete => {}
            ReadingEnd::Damaged(what) => analysis.damaged(what),
            ReadingEnd::Interrupted => {
                end = ReadingEnd::Interrupted;
                break;
            }
        }
    }
    let report = analysis.finish();
    // A file whose header was not complete is no part of the capture; that it was cut short is told by a finding.
    if report.summary.files.len() < begun && end == ReadingEnd::Complete {
        let finding = report.summary.findings.iter().find(|finding| {
            let message = finding.message.as_received();
            finding.code == caudal_capture::FindingCode::CutShort && !message.is_empty()
        });
        let message = finding.map_or_else(
            || "a file ends within its header".to_owned(),
            |finding| finding.message.to_string(),
        );
        return Err(Failure::new(Exit::Failed, message, "capture again"));
    }
    Ok((report, end))
}

/// The flow with this number.
///
/// # Errors
/// When there is none, or it is not shown by itself.
pub(super) fn numbered(summary: &CaptureSummary, number: u64) -> Result<CapturedFlow, Failure> {
    let found = summary.flows.iter().find(|flow| flow.number == number);
    found.cloned().ok_or_else(|| {
        let flows = summary.totals.flows;
        if (1..=flows).contains(&number) {
            return Failure::usage(
                format!(
                    "flow {number} is one of the small ones of {flows} flows, which are added up"
                ),
                "leave out others with --filter; numbers are counted again then",
            );
        }
        let there = match flows {
            0 => "there is none".to_owned(),
            1 => "there is one".to_owned(),
            n => format!("there are {n}"),
        };
        Failure::usage(format!("there is no flow {number}: {there}"), "see --flows")
    })
}

/// The failure to draw a flow of a capture that has none.
pub(super) fn nothing_to_draw(summary: &CaptureSummary) -> Failure {
    match summary.totals.filtered_frames {
        0 => Failure::usage(
            "the capture has no flow to draw",
            "see it without --ladder and --graph",
        ),
        n => Failure::usage(
            format!("the filter takes no flow: it left {n} frames out"),
            "see the flows with --flows, without --filter",
        ),
    }
}
