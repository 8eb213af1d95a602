//! Values of a comparison as text.

use crate::export::wording::span;
use caudal_core::quantity::Unit;
use caudal_stats::SideSummary;

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

/// Both ends of an interval, the unit once where it is the same.
#[must_use]
pub fn value_span(unit: Option<Unit>, low: f64, high: f64) -> String {
    match unit {
        Some(unit) => span(low, high, unit),
        None => format!("{low:.4}–{high:.4}"),
    }
}

/// The mean of a side with its interval.
#[must_use]
pub fn side_text(unit: Option<Unit>, side: Option<&SideSummary>) -> String {
    let Some(side) = side else {
        return "–".to_owned();
    };
    let mean = value_text(unit, side.mean.mean);
    if side.n == 1 {
        return mean;
    }
    let ends = value_span(unit, side.mean.low, side.mean.high);
    format!("{mean} ({ends}), n {}", side.n)
}

/// The change from one mean to another: an arrow, its part of the first, and the difference.
#[must_use]
pub fn change_text(unit: Option<Unit>, first: &SideSummary, second: &SideSummary) -> String {
    let (a, b) = (first.mean.mean, second.mean.mean);
    if a == b {
        return "= no change".to_owned();
    }
    let (arrow, sign) = if b > a { ("↑", "+") } else { ("↓", "−") };
    let part = if a == 0.0 {
        String::new()
    } else {
        let part = (b - a).abs() / a.abs();
        format!("{sign}{} %, ", trimmed(part * 100.0))
    };
    format!("{arrow} {part}{sign}{}", value_text(unit, (b - a).abs()))
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
