//! The answer written to where the flags ask for it.

use super::args::{PcapArgs, PcapOutputArgs};
use super::choice::AnalysedCapture;
use crate::exit::Failure;
use crate::output::line_width;
use crate::output::sink::{Sink, Sinks, write_answer};
use caudal_capture::{CaptureReport, CaptureSummary, FlowDetail, FlowGraph, GraphKind};
use caudal_views::findings::FindingsShown;
use caudal_views::pcap::{
    ChosenFlow, FlowColumns, PcapDocument, csv_lines, flow_lines, flow_table, graph_figure,
    ladder_figure, ladder_lines, summary_lines,
};
use std::path::Path;

/// Writes a capture in the form that the flags select.
///
/// # Errors
/// When it cannot be written, or the flow has no such graph.
pub(super) fn write_capture(args: &PcapArgs, capture: &AnalysedCapture) -> Result<(), Failure> {
    let views = &args.views;
    let report = &capture.report;
    let graph = views
        .graph
        .map(|kind| graph(report, capture.flow.as_ref(), kind))
        .transpose()?;
    if let (Some(svg), false) = (svg(args, capture, graph), args.output.json) {
        return write_svg(args.output.output.as_deref(), &svg, capture.flow.as_ref());
    }
    let lines = text(args, capture);
    let data = if args.output.json {
        let summary = of_flow(&report.summary, views.flow);
        let document = PcapDocument {
            summary: &summary,
            ladder: detail(report)
                .filter(|_| views.ladder)
                .map(|one| &one.ladder),
            graph,
        };
        let json = serde_json::to_string_pretty(&document);
        Some(json.expect("the document has only names for keys"))
    } else if args.output.csv {
        Some(csv_lines(&of_flow(&report.summary, views.flow)).join("\n"))
    } else {
        None
    };
    write_answer(args.output.output.as_deref(), &lines, data.as_deref())
}

/// The text of the view asked for.
fn text(args: &PcapArgs, capture: &AnalysedCapture) -> Vec<String> {
    let report = &capture.report;
    let summary = &report.summary;
    let width = line_width();
    match (&capture.flow, detail(report)) {
        (Some(flow), Some(detail)) if args.views.ladder => {
            ladder_lines(&detail.ladder, flow, width)
        }
        (Some(flow), _) => flow_lines(summary, flow, width),
        (None, _) if args.views.flows => flow_table(summary, FlowColumns::All, usize::MAX),
        (None, _) => summary_lines(summary, findings_shown(&args.output), width),
    }
}

/// The findings that the flags select.
const fn findings_shown(output: &PcapOutputArgs) -> FindingsShown {
    match (output.quiet, output.verbose) {
        (true, _) => FindingsShown::Problems,
        (_, true) => FindingsShown::All,
        _ => FindingsShown::Few,
    }
}

fn detail(report: &CaptureReport) -> Option<&FlowDetail> {
    report.detail.as_ref()
}

/// The document with one flow and its findings, when that was asked for.
fn of_flow(summary: &CaptureSummary, number: Option<u64>) -> CaptureSummary {
    let mut summary = summary.clone();
    if let Some(number) = number {
        summary.flows.retain(|flow| flow.number == number);
        summary
            .findings
            .retain(|finding| finding.flow.is_none_or(|flow| flow == number));
    }
    summary
}

fn graph<'a>(
    report: &'a CaptureReport,
    flow: Option<&ChosenFlow>,
    kind: GraphKind,
) -> Result<&'a FlowGraph, Failure> {
    let found = detail(report).and_then(|detail| detail.graph(kind));
    found.ok_or_else(|| {
        let flow = flow.map_or_else(|| "the flow".to_owned(), ChosenFlow::title);
        Failure::usage(
            format!("there is nothing to draw: {flow} has no values for {kind}"),
            "of UDP only --graph throughput is drawn",
        )
    })
}

/// The figure, when one is asked for: every graph, and a sequence diagram into a file of that kind.
fn svg(args: &PcapArgs, capture: &AnalysedCapture, graph: Option<&FlowGraph>) -> Option<String> {
    let chosen = capture.flow.as_ref()?;
    if let Some(graph) = graph {
        return Some(graph_figure(graph, chosen).svg());
    }
    let extension = args.output.output.as_ref()?.extension()?;
    let detail = detail(&capture.report)?;
    let is_svg = args.views.ladder && extension.eq_ignore_ascii_case("svg");
    is_svg.then(|| ladder_figure(&detail.ladder, chosen).svg())
}

/// Writes a figure to its file, and a line that names the flow; without a file to standard output.
fn write_svg(path: Option<&Path>, svg: &str, flow: Option<&ChosenFlow>) -> Result<(), Failure> {
    let mut sinks = Sinks {
        data: match path {
            Some(path) => Sink::file(path)?,
            None => Sink::stdout(),
        },
        text: match path {
            Some(_) => Sink::stdout(),
            None => Sink::nowhere(),
        },
        data_in_file: path.is_some(),
    };
    sinks.data.write(svg);
    if let (Some(path), Some(flow)) = (path, flow) {
        sinks.text.line(&flow.title());
        sinks.text.line(&format!("figure: {}", path.display()));
    }
    sinks.finish(svg)
}
