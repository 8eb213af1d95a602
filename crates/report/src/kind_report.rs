//! What reports, comparisons and exports show of the runs of a workload: each workload implements it once, and `kinds.rs` lists them.

use crate::compare::run_metrics::RunMetrics;
use crate::export::page::Block;
use crate::export::value_table::{ValueRow, ValueTable};
use caudal_core::run::Run;
use caudal_store::SampleSeries;

/// The report of the runs of a workload.
pub(crate) trait KindReport: Sync {
    /// The workload in the title of a page.
    fn title(&self) -> &'static str;

    /// The results in sentences.
    fn sentences(&self, run: &Run) -> Vec<String>;

    /// The sections of a page between the results and the environment, each with its heading; `series` are the recorded samples.
    fn sections(&self, run: &Run, series: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)>;

    /// Adds the estimates to a table of values, each a row like `row`.
    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable);

    /// Adds the metrics that are compared, of a run that began at `at_s` (s since 1970).
    fn metrics(&self, run: &Run, at_s: f64, metrics: &mut RunMetrics);
}
