//! Findings for people: what it is, how much it matters, the frames to look at, what to do.

use super::text::indented_within;
use super::width::LineWidth;
use caudal_core::finding::{Finding, FindingSeverity};

/// Findings shown unless all are asked for.
const MAX_SHOWN: usize = 10;

/// How many findings are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingsShown {
    /// Problems alone.
    Problems,
    /// The most important, and none that is mere information.
    Unusual,
    /// The most important.
    Few,
    /// Every one.
    All,
}

/// The lines of these findings, the most important first; `left_out` is the number of those that were not kept.
pub fn findings_lines(
    findings: &[Finding],
    left_out: u64,
    shown: FindingsShown,
    width: LineWidth,
) -> Vec<String> {
    let wanted: Vec<&Finding> = match shown {
        FindingsShown::Problems => findings
            .iter()
            .filter(|finding| finding.severity == FindingSeverity::Problem)
            .collect(),
        FindingsShown::Unusual => findings
            .iter()
            .filter(|finding| finding.severity != FindingSeverity::Information)
            .collect(),
        FindingsShown::Few | FindingsShown::All => findings.iter().collect(),
    };
    let max = match shown {
        FindingsShown::All => usize::MAX,
        FindingsShown::Problems | FindingsShown::Unusual | FindingsShown::Few => MAX_SHOWN,
    };
    let mut lines: Vec<String> = wanted
        .iter()
        .take(max)
        .flat_map(|one| lines_of(one, width))
        .collect();
    let more = wanted.len().saturating_sub(max) as u64;
    if more > 0 {
        lines.push(format!(
            "and {more} more findings: caudal pcap -v shows them"
        ));
    }
    if left_out > 0 {
        lines.push(format!(
            "and {left_out} findings that are not kept: see less with --filter"
        ));
    }
    lines
}

/// The lines of one finding.
fn lines_of(finding: &Finding, width: LineWidth) -> Vec<String> {
    let severity = match finding.severity {
        FindingSeverity::Problem => "problem",
        FindingSeverity::Notice => "notice",
        FindingSeverity::Information => "information",
    };
    let flow = finding.flow.map(|flow| format!("flow {flow}: "));
    let text = format!(
        "{severity}: {}{}{}",
        flow.unwrap_or_default(),
        finding.message,
        frames(finding)
    );
    let mut lines = indented_within(&text, "", "    ", width);
    if !finding.remedy.is_empty() {
        lines.extend(indented_within(
            &finding.remedy.to_string(),
            "  → ",
            "    ",
            width,
        ));
    }
    lines
}

/// The frames to look at.
fn frames(finding: &Finding) -> String {
    let numbers: Vec<String> = finding.frames.iter().map(ToString::to_string).collect();
    let more = if finding.count > finding.frames.len() as u64 && finding.frames.len() > 1 {
        ", …"
    } else {
        ""
    };
    match numbers.as_slice() {
        [] => String::new(),
        [one] => format!(" (frame {one})"),
        several => format!(" (frames {}{more})", several.join(", ")),
    }
}
