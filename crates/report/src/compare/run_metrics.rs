//! The metrics of a run that are compared, as its workload gives them.

use super::within_run::WithinRunEstimate;
use caudal_core::quantity::Unit;
use caudal_stats::Estimate;

/// A result of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunMetric {
    /// The part of the run that it is of; empty for the whole.
    pub(crate) case: String,
    /// Its name.
    pub(crate) metric: String,
    /// Its unit, where the metric is not a count.
    pub(crate) unit: Option<Unit>,
    /// The time at which it was measured, s since 1970.
    pub(crate) at_s: f64,
    /// The value.
    pub(crate) value: f64,
}

/// The results of a run.
#[derive(Debug, Default)]
pub(crate) struct RunMetrics {
    /// Those that are known.
    pub(crate) metrics: Vec<RunMetric>,
    /// The interval within the run of some of them, where there is one.
    pub(crate) within_run: Vec<(String, Option<WithinRunEstimate>)>,
    /// Parts of the run that ended early and give no result.
    pub(crate) cut_short: usize,
}

impl RunMetrics {
    /// Adds a result, if it is known.
    pub(crate) fn add(
        &mut self,
        case: &str,
        metric: &str,
        unit: Option<Unit>,
        at_s: f64,
        value: Option<f64>,
    ) {
        let metric = |value| RunMetric {
            case: case.to_owned(),
            metric: metric.to_owned(),
            unit,
            at_s,
            value,
        };
        self.metrics.extend(value.map(metric));
    }

    /// Adds the interval within the run of a metric.
    pub(crate) fn add_within_run(&mut self, metric: &str, estimate: Option<WithinRunEstimate>) {
        self.within_run.push((metric.to_owned(), estimate));
    }
}

/// The mean of an estimate.
pub(crate) fn mean(estimate: Option<Estimate>) -> Option<f64> {
    estimate.map(|estimate| estimate.mean)
}
