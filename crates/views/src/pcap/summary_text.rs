//! The summary of a capture for people.

use super::flow_table::{FlowColumns, flow_table};
use crate::findings::{FindingsShown, findings_lines};
use crate::text::indented_within;
use crate::width::LineWidth;
use caudal_capture::{CaptureFile, CaptureSummary, CaptureTotals, Finding, FindingSeverity};
use caudal_core::date::rfc3339;
use caudal_core::quantity::{Unit, short, size};

/// Flows shown in the summary.
const MAX_FLOWS: usize = 10;
/// Protocols named.
const MAX_PROTOCOLS: usize = 8;
/// Files described one by one.
const MAX_FILES: usize = 8;

/// The lines of the summary: what the capture holds, the findings, the largest flows unless problems alone are shown.
#[must_use]
pub fn summary_lines(
    summary: &CaptureSummary,
    shown: FindingsShown,
    width: LineWidth,
) -> Vec<String> {
    let mut lines = head(summary, width);
    lines.extend(findings_lines(
        &summary.findings,
        summary.findings_left_out,
        shown,
        width,
    ));
    if is_clean(summary) {
        lines.push("nothing wrong found".to_owned());
    }
    if shown != FindingsShown::Problems && !summary.flows.is_empty() {
        lines.push(String::new());
        lines.extend(flow_table(summary, FlowColumns::Few, MAX_FLOWS));
    }
    lines
}

/// `true` where there are flows, and nothing about them or the capture is unusual.
fn is_clean(summary: &CaptureSummary) -> bool {
    let is_unusual = |finding: &Finding| finding.severity != FindingSeverity::Information;
    summary.totals.flows > 0
        && summary.findings_left_out == 0
        && !summary.findings.iter().any(is_unusual)
}

/// The capture as a whole.
fn head(summary: &CaptureSummary, width: LineWidth) -> Vec<String> {
    let totals = &summary.totals;
    let flows = Unit::Flows.show(totals.flows as f64);
    let mut lines = vec![format!(
        "{}, {} in {}, {flows}",
        Unit::Frames.show(totals.frames as f64),
        size(totals.bytes),
        match totals.first_s {
            None if totals.frames > 0 => "an unknown time".to_owned(),
            _ => Unit::Seconds.show(totals.duration_s),
        }
    )];
    for file in summary.files.iter().take(MAX_FILES) {
        lines.extend(indented_within(&file_line(file), "", "    ", width));
    }
    if summary.files.len() > MAX_FILES {
        lines.push(format!(
            "and {} more files",
            summary.files.len() - MAX_FILES
        ));
    }
    if let Some(first) = totals.first_s.filter(|first| *first >= 0.0) {
        lines.push(format!("from {}", rfc3339((first * 1e9) as u64)));
    }
    let protocols: Vec<String> = summary
        .protocols
        .iter()
        .take(MAX_PROTOCOLS)
        .map(|one| format!("{} {}", one.name, short(one.frames as f64)))
        .collect();
    if !protocols.is_empty() {
        let text = format!("frames by protocol: {}", protocols.join(", "));
        lines.extend(indented_within(&text, "", "    ", width));
    }
    lines.extend(left_out(totals));
    lines
}

/// One file: its format, its link, its size.
fn file_line(file: &CaptureFile) -> String {
    let mut links: Vec<&str> = Vec::new();
    for interface in &file.interfaces {
        if !links.contains(&interface.link_name.as_str()) {
            links.push(&interface.link_name);
        }
    }
    let links = if links.is_empty() {
        String::new()
    } else {
        format!(", {}", links.join(" and "))
    };
    let program = file.program.as_ref();
    let program = program.map_or_else(String::new, |program| format!(", by {program}"));
    format!(
        "{}: {}{links}, {}{program}",
        file.name,
        file.format.name(),
        size(file.file_bytes)
    )
}

/// What of the frames is missing.
fn left_out(totals: &CaptureTotals) -> Vec<String> {
    let mut lines = Vec::new();
    if totals.filtered_frames > 0 {
        lines.push(format!(
            "the filter left {} out, which no number here counts",
            Unit::Frames.show(totals.filtered_frames as f64)
        ));
    }
    if totals.cut_off_frames > 0 {
        lines.push(format!(
            "{} cut off: {} of {} were kept",
            Unit::Frames.show(totals.cut_off_frames as f64),
            size(totals.captured_bytes),
            size(totals.bytes)
        ));
    }
    if totals.captured_twice_frames > 0 {
        lines.push(format!(
            "{} captured twice, which no number here counts",
            Unit::Frames.show(totals.captured_twice_frames as f64)
        ));
    }
    lines.push(match totals.dropped_frames {
        Some(dropped) => format!(
            "{} dropped while capturing",
            Unit::Frames.show(dropped as f64)
        ),
        None => "dropped while capturing: cannot tell, the file has no such count".to_owned(),
    });
    if totals.frames == 0 {
        lines.pop();
    }
    lines
}
