//! The report of tests of the connection rate.

use super::panels::panels;
use super::section;
use crate::compare::WithinRunEstimate;
use crate::compare::run_metrics::{RunMetrics, mean};
use crate::export::figures::numbered;
use crate::export::page::Block;
use crate::export::value_table::{ValueRow, ValueTable};
use crate::kind_report::KindReport;
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_store::SampleSeries;

/// Minimum effective number of values for a reliable interval of a rate.
const MIN_VALUES: u64 = 40;

/// The report of tests of the connection rate.
pub(crate) struct ConnectRunReport;

impl KindReport for ConnectRunReport {
    fn title(&self) -> &'static str {
        "Connection rate"
    }

    fn sentences(&self, run: &Run) -> Vec<String> {
        run.connect().map_or_else(Vec::new, section::sentences)
    }

    fn sections(&self, run: &Run, _: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)> {
        let Some(report) = run.connect() else {
            return Vec::new();
        };
        let panels = panels(report).into_iter().map(|panel| vec![Some(panel)]);
        vec![
            ("Figures", numbered(panels.collect())),
            ("Steps", vec![section::step_table(report)]),
        ]
    }

    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable) {
        let Some(report) = run.connect() else {
            return;
        };
        if let Some(per_s) = &report.per_s {
            table.push(&ValueRow {
                kind: "estimate",
                metric: "connections",
                unit: Unit::ConnectionsPerSecond.name(),
                value: per_s.mean,
                low: Some(per_s.low),
                high: Some(per_s.high),
                n: Some(per_s.n),
                ..row.clone()
            });
        }
        for (metric, _, times) in section::steps(report) {
            table.push(&ValueRow {
                kind: "estimate",
                metric,
                unit: "s",
                value: times.mean_us / 1e6,
                n: Some(times.n),
                ..row.clone()
            });
        }
        for one in &report.intervals {
            table.push(&ValueRow {
                kind: "interval",
                metric: "connections",
                unit: Unit::ConnectionsPerSecond.name(),
                start_s: Some(one.start_s),
                end_s: Some(one.end_s),
                value: one.per_s,
                ..row.clone()
            });
        }
    }

    fn metrics(&self, run: &Run, at_s: f64, metrics: &mut RunMetrics) {
        let Some(report) = run.connect() else {
            return;
        };
        let unit = Some(Unit::ConnectionsPerSecond);
        metrics.add("", "connections", unit, at_s, mean(report.per_s));
        let within = report.per_s.map(|estimate| WithinRunEstimate {
            estimate,
            is_trusted: estimate.n >= MIN_VALUES,
        });
        metrics.add_within_run("connections", within);
        for (metric, _, times) in section::steps(report) {
            let seconds = Some(Unit::Seconds);
            for (name, us) in [("", Some(times.mean_us)), ("_p99", times.p99_us)] {
                let name = format!("{metric}{name}");
                metrics.add("", &name, seconds, at_s, us.map(|us| us / 1e6));
            }
        }
        let failed = report.failures.total() as f64 / report.attempts.max(1) as f64;
        metrics.add("", "failed", Some(Unit::Share), at_s, Some(failed));
    }
}
