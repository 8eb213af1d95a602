//! The report of file transfers.

use super::figure::figure;
use super::section;
use crate::compare::run_metrics::RunMetrics;
use crate::export::figures::numbered;
use crate::export::page::Block;
use crate::export::value_table::{ValueRow, ValueTable};
use crate::kind_report::KindReport;
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_core::transfer::FileReport;
use caudal_store::SampleSeries;

/// The report of file transfers.
pub(crate) struct FileRunReport;

impl KindReport for FileRunReport {
    fn title(&self) -> &'static str {
        "File transfer"
    }

    fn sentences(&self, run: &Run) -> Vec<String> {
        run.file().map_or_else(Vec::new, section::sentences)
    }

    fn sections(&self, run: &Run, _: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)> {
        let Some(report) = run.file() else {
            return Vec::new();
        };
        let drawn = numbered(vec![vec![figure(report)]]);
        vec![("Figures", drawn), ("Transfers", section::tables(report))]
    }

    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable) {
        if let Some(report) = run.file() {
            push_transfers(table, row, report);
        }
    }

    fn metrics(&self, run: &Run, at_s: f64, metrics: &mut RunMetrics) {
        if let Some(report) = run.file() {
            add_transfers(metrics, report, at_s);
        }
    }
}

/// Adds the time and the goodput of each cell of file transfers, and the time of each transfer.
fn push_transfers(table: &mut ValueTable, row: &ValueRow<'_>, report: &FileReport) {
    for (at, cell) in (0..).zip(&report.cells) {
        let (case, flow) = (cell.cell.content(), cell.cell.name());
        let of_cell = |kind, metric, unit, value| ValueRow {
            kind,
            case: &case,
            flow: &flow,
            metric,
            unit,
            value,
            ..row.clone()
        };
        if let Some(time) = &cell.time_s {
            let has_interval = time.confidence > 0.0;
            table.push(&ValueRow {
                low: has_interval.then_some(time.low),
                high: has_interval.then_some(time.high),
                n: Some(time.n),
                ..of_cell("estimate", "time", "s", time.mean)
            });
        }
        if let Some(goodput_bps) = cell.goodput_bps {
            table.push(&of_cell("estimate", "goodput", "bit/s", goodput_bps));
        }
        let times = report.runs.iter().filter(|run| run.cell == at);
        for (run, time_s) in times.filter_map(|run| Some((run, run.result.time_s()?))) {
            table.push(&ValueRow {
                start_s: run.began_s,
                ..of_cell("sample", "time", "s", time_s)
            });
        }
    }
}

/// Adds each verified transfer, by what it transferred and how.
fn add_transfers(metrics: &mut RunMetrics, report: &FileReport, at_s: f64) {
    for run in &report.runs {
        let (Some(cell), Some(time_s)) = (report.cells.get(run.cell as usize), run.result.time_s())
        else {
            metrics.cut_short += 1;
            continue;
        };
        let (case, name) = (cell.cell.content(), cell.cell.name());
        let at_s = run.began_s.unwrap_or(at_s);
        let goodput = run.result.goodput_bps;
        let metric = format!("time {name}");
        metrics.add(&case, &metric, Some(Unit::Seconds), at_s, Some(time_s));
        let metric = format!("goodput {name}");
        metrics.add(&case, &metric, Some(Unit::BitPerSecond), at_s, goodput);
    }
}
