//! Values of a comparison as text.

use caudal_core::quantity::Unit;

/// A value with its unit.
#[must_use]
pub fn value_text(unit: Option<Unit>, value: f64) -> String {
    unit.map_or_else(
        || format!("{value:.4}"),
        |unit| match unit {
            // The mean of counts has a fraction.
            Unit::Segments
            | Unit::Timeouts
            | Unit::Collisions
            | Unit::Frames
            | Unit::Messages
            | Unit::Datagrams => {
                format!("{value:.1} {}", unit.name())
            }
            unit => unit.show(value),
        },
    )
}

/// A number with few digits, without zeros at its end.
#[must_use]
pub fn trimmed(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size if size < 1.0 => 2,
        size if size < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}
