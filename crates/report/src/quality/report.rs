//! The report of tests of latency under load.

use super::metrics::add_phases;
use super::panels::quality_panels;
use super::section;
use super::values::push_quality;
use crate::compare::run_metrics::RunMetrics;
use crate::export::figures::numbered;
use crate::export::page::Block;
use crate::export::value_table::{ValueRow, ValueTable};
use crate::kind_report::KindReport;
use caudal_core::episode::Episode;
use caudal_core::quality::QualityReport;
use caudal_core::run::Run;
use caudal_store::SampleSeries;

/// The report of tests of latency under load.
pub(crate) struct QualityRunReport;

impl KindReport for QualityRunReport {
    fn title(&self) -> &'static str {
        "Latency under load"
    }

    fn sentences(&self, run: &Run) -> Vec<String> {
        run.quality().map_or_else(Vec::new, section::sentences)
    }

    fn sections(&self, run: &Run, _: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)> {
        vec![
            ("Panels", panels(run.quality(), &run.episodes)),
            ("Phases", phases(run.quality())),
        ]
    }

    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable) {
        if let Some(report) = run.quality() {
            push_quality(table, row, report);
        }
    }

    fn metrics(&self, run: &Run, at_s: f64, metrics: &mut RunMetrics) {
        if let Some(report) = run.quality() {
            add_phases(metrics, report, at_s);
        }
    }
}

/// The table of the phases.
pub(crate) fn phases(report: Option<&QualityReport>) -> Vec<Block> {
    report.map(section::phase_table).into_iter().collect()
}

/// The panels over time, one below the other.
pub(crate) fn panels(report: Option<&QualityReport>, episodes: &[Episode]) -> Vec<Block> {
    let panels = report.map_or_else(Vec::new, |report| quality_panels(report, episodes));
    numbered(panels.into_iter().map(|panel| vec![Some(panel)]).collect())
}
