//! The axis of round-trip times, and the selection of many that is drawn along it.

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

/// The number of points of a line.
const POINTS: usize = 1000;

/// The finite samples in ascending order: of very many as many as a line needs, with the least and the greatest.
#[must_use]
pub fn thinned(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values
        .iter()
        .copied()
        .filter(|one| one.is_finite())
        .collect();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.len() <= 2 * POINTS {
        return sorted;
    }
    let last = sorted.len() - 1;
    (0..=POINTS)
        .map(|nth| sorted[nth * last / POINTS])
        .collect()
}
