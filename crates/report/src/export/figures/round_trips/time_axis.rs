//! The axis of round-trip times.

use caudal_plot::{Axis, AxisQuantity, Scale};

/// Minimum ratio of the longest time to the shortest at which the axis is logarithmic.
const MIN_LOG_RATIO: f64 = 20.0;

/// An axis of times in s: logarithmic where they span more than a decade, else linear.
pub fn time_axis(label: &str, values: impl Iterator<Item = f64>) -> Axis {
    let (mut min, mut max) = (f64::INFINITY, 0.0_f64);
    for value in values.filter(|value| value.is_finite() && *value > 0.0) {
        (min, max) = (min.min(value), max.max(value));
    }
    let scale = if max / min >= MIN_LOG_RATIO {
        Scale::Log
    } else {
        Scale::Linear
    };
    Axis::new(label, AxisQuantity::Seconds, scale)
}
