//! Values of metrics as text, and the names of their units.

use crate::metric::METRICS;
use caudal_core::quantity::{self, EstimateInUnit, Unit};
use caudal_stats::Estimate;
use serde::{Deserialize, Deserializer};

/// A value with its unit, in three or four digits.
#[must_use]
pub fn format_value(value: f64, unit: Option<Unit>) -> String {
    unit.map_or_else(|| quantity::short(value), |unit| unit.show(value))
}

/// A mean with its unit, and half the width of its interval where it has one, with the digits that the interval warrants.
#[must_use]
pub fn format_estimate(estimate: &Estimate, unit: Option<Unit>) -> String {
    EstimateInUnit::new(estimate, unit.unwrap_or(Unit::Ratio)).plus_minus()
}

/// A mean with its unit and the ends of its interval, with the digits that the interval warrants.
pub(super) fn format_estimate_ends(estimate: &Estimate, unit: Option<Unit>) -> String {
    let shown = EstimateInUnit::new(estimate, unit.unwrap_or(Unit::Ratio));
    match shown.interval() {
        Some(interval) => format!("{} ({interval})", shown.mean()),
        _ => format_value(estimate.mean, unit),
    }
}

/// The name of the unit of a metric, as JSON writes units; empty for a metric that this program does not know.
pub type UnitName = &'static str;

/// Reads the name of a unit; empty where no metric has it.
pub(super) fn unit_name<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    let name = String::deserialize(from)?;
    Ok(METRICS
        .iter()
        .map(|metric| metric.unit.name())
        .find(|known| *known == name)
        .unwrap_or(""))
}
