//! The closing block of file transfers: of a campaign its tables, of single transfers a line each.

use super::{cell_table, cost_tables, ratios, single};
use crate::output::closing::ClosingLine;
use crate::output::interval_table::Detail;
use crate::output::text::{self, fold};
use crate::output::text_form::TextForm;
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_core::transfer::{FileReport, TransferRun};

/// The maximum number of single transfers that are explained without being asked for.
const MAX_EXPLAINED: usize = 4;

/// The lines of the closing block.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<ClosingLine> {
    let Some(report) = &run.file else {
        return Vec::new();
    };
    let mut lines = if report.cells.iter().any(|cell| cell.n > 1) {
        campaign(report, form)
    } else {
        singles(report, form)
    };
    if !form.quiet {
        lines.extend(
            run.warnings
                .iter()
                .map(text::warning)
                .map(ClosingLine::Text),
        );
    }
    lines
}

fn campaign(report: &FileReport, form: TextForm) -> Vec<ClosingLine> {
    let mut lines = cell_table::lines(report);
    lines.extend(ratios::lines(report));
    if form.detail == Detail::Every && !form.quiet {
        lines.extend(cost_tables::lines(report));
    }
    if !form.quiet {
        lines.push(fold(&made(report), 4));
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
        lines.push(ClosingLine::Emphasized(single::headline(
            &cell.cell,
            &run.result,
        )));
        if is_explained {
            let explanation = single::explanation(run, form.detail);
            lines.extend(explanation.into_iter().map(ClosingLine::Text));
        }
    }
    lines.extend(total(report).map(ClosingLine::Text));
    lines.extend(compared_once(report).map(ClosingLine::Text));
    lines
}

/// The sum of several files; `None` of one content.
fn total(report: &FileReport) -> Option<String> {
    if report.is_campaign() || report.runs.len() < 2 {
        return None;
    }
    let done: Vec<(&TransferRun, f64)> = report
        .runs
        .iter()
        .filter_map(|run| Some((run, run.result.time_s()?)))
        .collect();
    let bytes: u64 = done.iter().map(|(run, _)| run.result.bytes).sum();
    let time_s: f64 = done.iter().map(|(_, time_s)| time_s).sum();
    let line = format!(
        "{} of {} transfers: {} in {}, {}",
        done.len(),
        report.runs.len(),
        text::bytes(bytes),
        Unit::Seconds.show(time_s),
        text::bits(bytes as f64 * 8.0 / time_s.max(1e-9)),
    );
    Some(fold(&line, 4))
}

/// That protocols were compared with one transfer each, which says little.
fn compared_once(report: &FileReport) -> Option<String> {
    let is_compared = report.is_campaign() && report.runs.len() > 1;
    is_compared.then(|| {
        let line = "one transfer each, after one that was discarded: --repeat 30 shows how far they differ by chance";
        fold(line, 4)
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::campaign;
    use super::*;
    use caudal_core::run::{RunHeader, SCHEMA, Tool};

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
            file: Some(Box::new(report)),
            ..Run::new(header, caudal_core::plan::PlanRecord::default())
        }
    }

    fn text_of(report: FileReport, detail: Detail, quiet: bool) -> String {
        let form = TextForm {
            quiet,
            detail,
            size_columns: false,
        };
        let lines = result_lines(&run_of(report), form);
        let texts: Vec<String> = lines.iter().map(ClosingLine::text).collect();
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
    fn single_transfers_are_a_line_each_with_their_explanation() {
        let shown = text_of(campaign(1), Detail::Usual, false);
        assert!(
            shown.starts_with("tcp: 1 Gbit/s; 1 MB in 8 ms, digest verified\n  times: "),
            "{shown}"
        );
        assert!(shown.ends_with("differ by chance"), "{shown}");
        let quiet = text_of(campaign(1), Detail::Usual, true);
        // However wide the terminal of the tests is.
        let unfolded = quiet.replace("\n    ", " ");
        assert_eq!(unfolded.lines().count(), 5, "{quiet}");
    }
}
