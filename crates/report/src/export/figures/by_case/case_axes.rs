//! What figures by case have in common: their axes, and the interval and the values that are drawn.

use caudal_experiment::Metric;
use caudal_experiment::expression::find_metric;
use caudal_experiment::findings::MetricFindings;
use caudal_plot::{Axis, Figure};

/// Maximum number of cases side by side; more stand one under the other, where their names have room.
pub const MAX_SIDE_BY_SIDE: usize = 7;

/// The axes of a figure by case, and its size: upright where there are few cases, else lying, with room for every name.
pub fn case_axes(names: Vec<String>, value: Axis, series: usize) -> (Axis, Axis, (u32, u32)) {
    let count = names.len();
    let cases = Axis::categories("", names);
    if count <= MAX_SIDE_BY_SIDE {
        (cases, value, Figure::SIZE)
    } else {
        let high = (120 + count * (14 * series.max(1) + 12)).clamp(300, 1100);
        (value, cases, (800, high as u32))
    }
}

/// The number of cases along an axis of a figure.
pub fn category_count(figure: &Figure) -> usize {
    let count = |axis: &Axis| axis.categories.as_ref().map_or(0, Vec::len);
    count(&figure.x).max(count(&figure.y))
}

/// Maximum number of values that are all drawn as dots.
pub const MAX_DOTS: usize = 20;

/// The interval of the observed mean, cut to the range of values that the metric can have; `None` without one.
pub fn drawn_interval(name: &str, metric: &MetricFindings) -> Option<(f64, f64)> {
    let estimate = metric.observed.filter(|one| one.confidence > 0.0)?;
    let known = find_metric(name).map(Metric::range);
    let estimate = known.map_or(estimate, |range| estimate.clamped_to(range));
    Some((estimate.low, estimate.high))
}
