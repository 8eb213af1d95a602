//! The closing block of file transfers: of a campaign its tables, of single transfers a line each.

use super::{cell_table, cost_tables, ratios, single};
use crate::closing::ClosingLine;
use crate::interval_table::Detail;
use crate::text::{self, fold};
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_core::transfer::{FileReport, TransferRun};

/// Maximum number of single transfers that are explained without being asked for.
const MAX_EXPLAINED: usize = 4;

/// Maximum number of files that have a line each though nothing failed.
const MAX_LISTED: usize = 12;

/// The lines of the closing block.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let Some(report) = run.file() else {
        return Vec::new();
    };
    let mut lines = if report.cells.iter().any(|cell| cell.n > 1) {
        campaign(report, form)
    } else {
        singles(report, form)
    };
    lines.extend(
        text::warnings(run, form.width)
            .into_iter()
            .map(ClosingLine::Text),
    );
    lines
}

fn campaign(report: &FileReport, form: TextForm) -> Vec<ClosingLine> {
    let mut lines = cell_table::lines(report, form.width);
    lines.extend(ratios::lines(report, form.width));
    if form.detail == Detail::Every && !form.quiet {
        lines.extend(cost_tables::lines(report));
    }
    if !form.quiet {
        lines.push(fold(&made(report), 4, form.width));
    }
    lines.into_iter().map(ClosingLine::Text).collect()
}

/// The transfers that were made, and in which order.
fn made(report: &FileReport) -> String {
    let blocks = report.runs.iter().map(|run| run.block).max().unwrap_or(0);
    let discarded = match report.discarded {
        0 => String::new(),
        1 => ", 1 more before them discarded".to_owned(),
        count => format!(", {count} more before them discarded"),
    };
    format!(
        "{} transfers in {blocks} blocks{discarded}; order by seed {}",
        report.runs.len(),
        report.seed
    )
}

fn singles(report: &FileReport, form: TextForm) -> Vec<ClosingLine> {
    let is_explained =
        !form.quiet && (report.runs.len() <= MAX_EXPLAINED || form.detail == Detail::Every);
    let mut lines = Vec::new();
    for run in &report.runs {
        let Some(cell) = report.cells.get(run.cell as usize) else {
            continue;
        };
        // Of many files those that failed; `-v` has them all.
        let is_listed = report.runs.len() <= MAX_LISTED || form.detail == Detail::Every;
        if !is_listed && run.result.time_s().is_some() {
            continue;
        }
        lines.push(ClosingLine::Emphasized(single::headline(
            &cell.cell,
            &run.result,
        )));
        if is_explained {
            let explanation = single::explanation(run, form);
            lines.extend(explanation.into_iter().map(ClosingLine::Text));
        }
    }
    lines.extend(total(report, form.width).map(ClosingLine::Text));
    lines.extend(compared_once(report, form.width).map(ClosingLine::Text));
    lines
}

/// The sum of several files, whose rate is that over the time that all of them took; `None` of one content.
fn total(report: &FileReport, width: LineWidth) -> Option<String> {
    if report.is_campaign() || report.runs.len() < 2 {
        return None;
    }
    let done: Vec<(&TransferRun, f64)> = report
        .runs
        .iter()
        .filter_map(|run| Some((run, run.result.time_s()?)))
        .collect();
    let bytes: u64 = done.iter().map(|(run, _)| run.result.bytes).sum();
    let moving_s: f64 = done.iter().map(|(_, time_s)| time_s).sum();
    // Earlier versions did not record how long all of them took.
    let time_s = report.elapsed_s.unwrap_or(moving_s);
    let between = match report.elapsed_s {
        Some(elapsed_s) if elapsed_s > moving_s => format!(
            "; {} in the transfers, the rest between them",
            Unit::Seconds.show(moving_s)
        ),
        _ => String::new(),
    };
    let line = format!(
        "{} of {} transfers: {} in {}, {}{between}",
        done.len(),
        report.runs.len(),
        text::bytes(bytes),
        Unit::Seconds.show(time_s),
        text::bits(bytes as f64 * 8.0 / time_s.max(1e-9)),
    );
    Some(fold(&line, 4, width))
}

/// The note that one transfer each is no comparison of protocols.
fn compared_once(report: &FileReport, width: LineWidth) -> Option<String> {
    let is_compared = report.is_campaign() && report.runs.len() > 1;
    is_compared.then(|| {
        let line = "one transfer each, after one that was discarded: --repeat 30 shows how far they differ by chance";
        fold(line, 4, width)
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::campaign;
    use super::*;
    use caudal_core::run::{RunHeader, RunResult, SCHEMA, Tool};
    use caudal_core::transfer::FileResult;

    fn run_of(report: FileReport) -> Run {
        let header = RunHeader {
            schema: SCHEMA.to_owned(),
            id: "0".repeat(32),
            started: String::new(),
            tool: Tool {
                name: "caudal".into(),
                version: None,
                compatible_with: None,
            },
            command: None,
        };
        Run {
            result: Some(RunResult::File(Box::new(FileResult {
                report,
                transfers: Vec::new(),
            }))),
            ..Run::new(header, caudal_core::plan::PlanRecord::default())
        }
    }

    fn text_of(report: FileReport, detail: Detail, quiet: bool) -> String {
        let form = TextForm {
            quiet,
            detail,
            size_columns: false,
            width: LineWidth::UNLIMITED,
        };
        let lines = result_lines(&run_of(report), form);
        let texts: Vec<String> = lines
            .iter()
            .map(|line| line.text(LineWidth::UNLIMITED))
            .collect();
        texts.join("\n")
    }

    #[test]
    fn a_campaign_ends_with_its_tables() {
        let shown = text_of(campaign(6), Detail::Usual, false);
        assert!(shown.starts_with("1 MB "), "{shown}");
        assert!(shown.contains("\ntimes as ratios"), "{shown}");
        assert!(
            shown.ends_with("24 transfers in 6 blocks; order by seed 42"),
            "{shown}"
        );
        assert!(!shown.contains("handshake"));
        assert!(text_of(campaign(6), Detail::Every, false).contains("handshake"));
        let quiet = text_of(campaign(6), Detail::Every, true);
        assert!(!quiet.contains("seed") && quiet.contains("1 MB"), "{quiet}");
    }

    #[test]
    fn the_rate_of_several_files_is_that_over_the_time_that_all_took() {
        let mut report = campaign(1);
        for (nth, cell) in (0..).zip(&mut report.cells) {
            cell.cell.file = Some(format!("tree/{nth}").as_str().into());
        }
        let bytes: u64 = report.runs.iter().map(|run| run.result.bytes).sum();
        report.elapsed_s = Some(bytes as f64 * 8.0 / 1e6);
        let shown = text_of(report, Detail::Usual, true).replace("\n    ", " ");
        assert!(shown.contains(", 1 Mbit/s; "), "{shown}");
        assert!(
            shown.ends_with("in the transfers, the rest between them"),
            "{shown}"
        );
    }

    #[test]
    fn single_transfers_are_a_line_each_with_their_explanation() {
        let shown = text_of(campaign(1), Detail::Usual, false);
        assert!(
            shown.starts_with("tcp: 1 Gbit/s; 1 MB in 8 ms, digest verified\n  times: "),
            "{shown}"
        );
        assert!(shown.ends_with("differ by chance"), "{shown}");
        let quiet = text_of(campaign(1), Detail::Usual, true);
        assert_eq!(quiet.lines().count(), 5, "{quiet}");
    }
}
