//! One flow captured at both of its ends.

use super::args::PcapArgs;
use super::choice::{nothing_to_draw, numbered};
use super::pieces::{PieceReader, ReadingEnd};
use super::source::CaptureSource;
use crate::exit::{Exit, Failure};
use crate::output::line_width;
use crate::output::sink::write_answer;
use caudal_capture::{
    AnalysisOptions, CaptureAnalysis, CaptureFilter, CaptureSummary, CapturedFlow,
    CapturedTransport, EndsError, EndsRecorder, Finding, compare_ends,
};
use caudal_views::findings::{FindingsShown, findings_lines};
use caudal_views::pcap::{ENDS_SCHEMA, EndsDocument, ends_lines};

/// Compares the captures of two ends and writes what they tell together.
///
/// # Errors
/// When one cannot be read or is no capture, or they have nothing in common.
pub(super) fn compare(
    args: &PcapArgs,
    sender: &CaptureSource,
    receiver: &CaptureSource,
    reader: &mut PieceReader<'_>,
) -> Result<Exit, Failure> {
    let (filter, chosen) = chosen_flow(args, sender, reader)?;
    let first = record(sender, filter.clone(), reader)?;
    let second = record_receiver(args, receiver, filter, reader)?;
    let comparison = compare_ends(&first.recorder, &second.recorder)
        .map_err(|error| failure(error, sender, receiver))?;
    let width = line_width();
    let mut lines = ends_lines(
        &comparison,
        &sender.to_string(),
        &receiver.to_string(),
        width,
    );
    if !chosen.is_empty() {
        lines.insert(0, chosen);
    }
    for (name, end) in [("sender", &first), ("receiver", &second)] {
        let found = findings_lines(&end.findings, 0, FindingsShown::All, width);
        if !found.is_empty() {
            lines.push(format!("the capture of the {name}:"));
            lines.extend(found);
        }
    }
    let document = EndsDocument {
        schema: ENDS_SCHEMA,
        sender: sender.to_string().into(),
        receiver: receiver.to_string().into(),
        comparison: &comparison,
        sender_findings: &first.findings,
        receiver_findings: &second.findings,
    };
    let data = args.output.json.then(|| {
        serde_json::to_string_pretty(&document).expect("the document has only names for keys")
    });
    write_answer(args.output.output.as_deref(), &lines, data.as_deref())?;
    Ok(Exit::Done)
}

/// The filter that takes the flow to compare, and a line that says which it is: the one asked for or the largest of the sender's capture.
/// What is read once is compared by the first flow that the filter takes.
fn chosen_flow(
    args: &PcapArgs,
    sender: &CaptureSource,
    reader: &mut PieceReader<'_>,
) -> Result<(CaptureFilter, String), Failure> {
    let filter = args.filter.clone().unwrap_or_default();
    if !sender.can_be_read_again() {
        if args.views.flow.is_some() {
            return Err(Failure::usage(
                format!("{sender} is read once, and the number of a flow is known at its end"),
                "choose the flow with --filter",
            ));
        }
        return Ok((filter, String::new()));
    }
    let summary = summary_of(sender, filter.clone(), reader)?;
    let flow = match args.views.flow {
        Some(number) => numbered(&summary, number)?,
        None => largest(&summary)?,
    };
    let filter = filter_of(&flow, &filter);
    let why = match (args.views.flow, summary.totals.flows) {
        (Some(_), _) | (None, 1) => String::new(),
        (None, n) => format!(", the largest of {n}"),
    };
    Ok((filter, format!("flow {} of {sender}{why}", flow.number)))
}

fn summary_of(
    source: &CaptureSource,
    filter: CaptureFilter,
    reader: &mut PieceReader<'_>,
) -> Result<CaptureSummary, Failure> {
    let mut analysis = CaptureAnalysis::new(&AnalysisOptions {
        filter,
        ..AnalysisOptions::default()
    });
    analysis.begin_file(source.to_string().into());
    let end = reader.read(source, |piece| analysis.push(piece))?;
    ended(end, &mut analysis)?;
    Ok(analysis.finish().summary)
}

/// The filter that takes one flow in the time of `filter`.
fn filter_of(flow: &CapturedFlow, filter: &CaptureFilter) -> CaptureFilter {
    let ports = flow.client.port.into_iter().chain(flow.server.port);
    CaptureFilter {
        hosts: vec![flow.client.address, flow.server.address],
        ports: ports.collect(),
        transport: Some(flow.transport),
        time: filter.time.clone(),
    }
}

/// The largest flow that can be compared.
fn largest(summary: &CaptureSummary) -> Result<CapturedFlow, Failure> {
    let has_marks = |flow: &&CapturedFlow| {
        matches!(
            flow.transport,
            CapturedTransport::Tcp | CapturedTransport::Udp
        )
    };
    let found = summary.flows.iter().find(has_marks).cloned();
    found.ok_or_else(|| nothing_to_draw(summary))
}

/// A capture of one end, and what is to be known about it when the two are compared.
#[derive(Debug)]
struct RecordedEnd {
    recorder: EndsRecorder,
    /// The findings about the capture as a whole: what it lacks counts as lost on the way.
    findings: Vec<Finding>,
}

/// Records the flow that `filter` takes at the receiver. Where its addresses were translated, that is none: the flow is then the
/// largest that the user's own filter takes there.
fn record_receiver(
    args: &PcapArgs,
    receiver: &CaptureSource,
    filter: CaptureFilter,
    reader: &mut PieceReader<'_>,
) -> Result<RecordedEnd, Failure> {
    let recorded = record(receiver, filter, reader)?;
    let Some(own) = &args.filter else {
        return Ok(recorded);
    };
    if recorded.recorder.has_flow() || !receiver.can_be_read_again() {
        return Ok(recorded);
    }
    let summary = summary_of(receiver, own.clone(), reader)?;
    match largest(&summary) {
        Ok(flow) => record(receiver, filter_of(&flow, own), reader),
        Err(_) => Ok(recorded),
    }
}

fn record(
    source: &CaptureSource,
    filter: CaptureFilter,
    reader: &mut PieceReader<'_>,
) -> Result<RecordedEnd, Failure> {
    let mut analysis = CaptureAnalysis::new(&AnalysisOptions {
        filter: filter.clone(),
        ..AnalysisOptions::default()
    });
    analysis.begin_file(source.to_string().into());
    let mut recorder = EndsRecorder::new(filter);
    let mut is_damaged = false;
    let end = reader.read(source, |piece| {
        analysis.push(piece)?;
        // What comes before the damage is compared; the analysis has a finding that tells.
        is_damaged = is_damaged || recorder.push(piece).is_err();
        Ok(())
    })?;
    ended(end, &mut analysis)?;
    let mut findings = analysis.finish().summary.findings;
    findings.retain(|finding| finding.flow.is_none());
    Ok(RecordedEnd { recorder, findings })
}

/// Half a capture cannot be compared, as what was not read would count as lost; of a damaged one the analysis is told.
fn ended(end: ReadingEnd, analysis: &mut CaptureAnalysis) -> Result<(), Failure> {
    match end {
        ReadingEnd::Complete => {}
        ReadingEnd::Damaged(what) => analysis.damaged(what),
        ReadingEnd::Interrupted => {
            return Err(Failure::new(
                Exit::Failed,
                "interrupted while reading: two captures are compared as a whole",
                "",
            ));
        }
    }
    Ok(())
}

fn failure(error: EndsError, sender: &CaptureSource, receiver: &CaptureSource) -> Failure {
    let message = match error {
        EndsError::NoFlow("first") => format!("{sender} has no such flow of TCP or UDP"),
        EndsError::NoFlow(_) => format!("{receiver} has no such flow of TCP or UDP"),
        EndsError::NothingInCommon => format!("{sender} and {receiver}: {error}"),
    };
    Failure::new(
        Exit::Failed,
        message,
        "choose another flow with --flow or --filter; where addresses are translated between the two, filter by what stays the same",
    )
}
