//! The interval and the values of a metric as far as they are drawn.

use caudal_experiment::Metric;
use caudal_experiment::expression::find_metric;
use caudal_experiment::findings::MetricFindings;

/// Maximum number of values that are all drawn as dots.
pub const MAX_DOTS: usize = 20;

/// The interval of the observed mean, cut to the range of values that the metric can have; `None` without one.
pub fn drawn_interval(name: &str, metric: &MetricFindings) -> Option<(f64, f64)> {
    let estimate = metric.observed.filter(|one| one.confidence > 0.0)?;
    let known = find_metric(name).map(Metric::range);
    let estimate = known.map_or(estimate, |range| estimate.clamped_to(range));
    Some((estimate.low, estimate.high))
}
