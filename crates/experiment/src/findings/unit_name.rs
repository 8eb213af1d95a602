//! The unit of a metric, by its name.

use serde::{Deserialize, Deserializer};

use crate::metric::METRICS;

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
