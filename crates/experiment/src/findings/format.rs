//! Values of metrics as text.

use caudal_core::quantity::{self, Unit};
use caudal_stats::Estimate;

/// A value with its unit, in three or four digits.
#[must_use]
pub fn format_value(value: f64, unit: Option<Unit>) -> String {
    unit.map_or_else(|| quantity::short(value), |unit| unit.show(value))
}

/// A mean with its unit, and half the width of its interval where it has one.
#[must_use]
pub fn format_estimate(estimate: &Estimate, unit: Option<Unit>) -> String {
    let mean = format_value(estimate.mean, unit);
    if estimate.confidence == 0.0 {
        return mean;
    }
    format!("{mean} ± {}", format_value(estimate.half_width(), unit))
}

/// A mean with its unit and the ends of its interval.
pub(super) fn format_estimate_ends(estimate: &Estimate, unit: Option<Unit>) -> String {
    let mean = format_value(estimate.mean, unit);
    if estimate.confidence == 0.0 {
        return mean;
    }
    let (low, high) = (
        format_value(estimate.low, unit),
        format_value(estimate.high, unit),
    );
    // A common unit is written once.
    let unit_of = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    let low = match unit_of(&low) {
        Some(unit) if Some(&unit) == unit_of(&high).as_ref() => {
            low.trim_end_matches(&unit).trim_end().to_owned()
        }
        _ => low,
    };
    format!("{mean} ({low} to {high})")
}
