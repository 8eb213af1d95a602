//! The axis of a parameter whose values are numbers.

use crate::export::wording;
use caudal_experiment::Scalar;
use caudal_plot::{Axis, AxisQuantity};

/// Minimum ratio of the greatest value to the least at which the axis is logarithmic.
const MIN_LOG_RATIO: f64 = 50.0;

/// The axis of a parameter, of the quantity that its name and the endings of its values show; `positions` are the values as numbers.
pub fn parameter_axis(name: &str, values: &[&Scalar], positions: &[f64]) -> Axis {
    let quantity = parameter_quantity(name, values);
    let min = positions.iter().copied().fold(f64::INFINITY, f64::min);
    let max = positions.iter().copied().fold(0.0, f64::max);
    let axis = if min > 0.0 && max / min >= MIN_LOG_RATIO {
        Axis::log(name, quantity)
    } else {
        Axis::linear(name, quantity)
    };
    Axis {
        label: wording::metric(name),
        ..axis
    }
}

/// The quantity of a parameter by its name and the endings of its values.
fn parameter_quantity(name: &str, values: &[&Scalar]) -> AxisQuantity {
    let all_end_with = |ending: &str| {
        values.iter().all(|value| match value {
            Scalar::Text(text) => text.trim().ends_with(ending),
            _ => value.number() == Some(0.0),
        })
    };
    let name = name.to_lowercase();
    let has_any = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if all_end_with("%") {
        AxisQuantity::Percent
    } else if all_end_with("s") {
        AxisQuantity::Seconds
    } else if has_any(&[
        "size", "length", "window", "buffer", "bytes", "mss", "message",
    ]) {
        AxisQuantity::Bytes
    } else if has_any(&["rate", "bandwidth", "load"])
        && ["M", "k", "G"].into_iter().any(all_end_with)
    {
        AxisQuantity::Rate
    } else {
        AxisQuantity::Number
    }
}
