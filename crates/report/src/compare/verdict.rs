//! The verdict on a metric, in a sentence.

use caudal_core::quantity::Unit;
use caudal_experiment::Metric;
use caudal_stats::{MIN_TRIALS_OF_INTERVAL, NotComparable, SideSummary};

use super::comparison::ComparedMetric;
use super::direction::find_metric;
use super::format::{trimmed, value_span, value_text};

/// The comparative for a value above or below another.
fn word(metric: &str, unit: Option<Unit>, above: bool) -> &'static str {
    let definition: Option<&Metric> = find_metric(metric);
    let is_rate = unit == Some(Unit::BitPerSecond)
        || definition.is_some_and(|metric| metric.unit == Unit::BitPerSecond);
    match (is_rate, unit, above) {
        (true, _, true) => "faster",
        (true, _, false) => "slower",
        (false, Some(Unit::Seconds), true) => "longer",
        (false, Some(Unit::Seconds), false) => "shorter",
        (false, _, true) => "higher",
        (false, _, false) => "lower",
    }
}

/// The difference of a metric in a sentence.
pub fn verdict(cell: &ComparedMetric, confidence: f64, count: usize) -> String {
    let show = |value: f64| value_text(cell.unit, value);
    let percent = |part: f64| format!("{} %", trimmed(part * 100.0));
    let Some(found) = &cell.result else {
        return within_run(cell, &show).unwrap_or_else(|| cannot(cell, &show));
    };
    let difference = found.difference;
    let level = caudal_core::quantity::confidence_level(confidence);
    let relative = cell
        .first
        .map(|first| first.mean.mean.abs())
        .filter(|mean| *mean > 0.0)
        .map_or_else(String::new, |mean| {
            format!(" ({})", percent(difference.mean.abs() / mean))
        });
    let near = found.equivalence.filter(|near| near.holds).map(|near| {
        format!(
            "within {} of A, {}",
            percent(near.margin),
            show(near.within)
        )
    });
    if found.differs {
        let above = difference.mean > 0.0;
        let (low, high) = if above {
            (difference.low, difference.high)
        } else {
            (-difference.high, -difference.low)
        };
        let also = near.map_or_else(String::new, |near| format!("; still {near}"));
        return format!(
            "B is {}{relative} {}: {level} {}{also}",
            show(difference.mean.abs()),
            word(&cell.metric, cell.unit, above),
            value_span(cell.unit, low, high),
        );
    }
    if let Some(near) = near {
        return format!(
            "no difference that matters: {near}, shown at {}",
            percent(confidence)
        );
    }
    if difference.low > 0.0 || difference.high < 0.0 {
        return format!(
            "cannot tell: significant by itself, but not among {count} comparisons \
             (adjusted p {:.2})",
            found.adjusted_p
        );
    }
    format!(
        "cannot tell: B is between {} {} and {} {} ({level})",
        show(-difference.low),
        word(&cell.metric, cell.unit, false),
        show(difference.high),
        word(&cell.metric, cell.unit, true),
    )
}

/// The difference of single runs by the intervals within them, in a sentence; `None` without these.
fn within_run(cell: &ComparedMetric, show: &dyn Fn(f64) -> String) -> Option<String> {
    let within = cell.within_run?;
    let level = caudal_core::quantity::confidence_level(within.confidence);
    let caveat = "; one run a side: how much runs vary is unknown";
    if within.low <= 0.0 && within.high >= 0.0 {
        return Some(format!(
            "cannot tell: within these two runs B is between {} {} and {} {} ({level}){caveat}",
            show(-within.low),
            word(&cell.metric, cell.unit, false),
            show(within.high),
            word(&cell.metric, cell.unit, true),
        ));
    }
    let ends = if within.mean > 0.0 {
        (within.low, within.high)
    } else {
        (-within.high, -within.low)
    };
    Some(format!(
        "within these two runs B is {} {}: {level} {}{caveat}",
        show(within.mean.abs()),
        word(&cell.metric, cell.unit, within.mean > 0.0),
        value_span(cell.unit, ends.0, ends.1),
    ))
}

/// The reason why a metric has no result, in a sentence.
fn cannot(cell: &ComparedMetric, show: &dyn Fn(f64) -> String) -> String {
    match cell.cannot {
        Some(NotComparable::TooFew { first, second }) => {
            let side = |name: &str, side: Option<SideSummary>| match side {
                None => format!("{name} –"),
                Some(side) if side.n == 1 => format!("{name} {}", show(side.mean.mean)),
                Some(side) => {
                    let (min, max) = (show(side.min), show(side.max));
                    format!("{name} {}, {min} to {max}", show(side.mean.mean))
                }
            };
            let (a, b) = (side("A", cell.first), side("B", cell.second));
            if (first, second) == (1, 1) {
                return format!(
                    "cannot tell: one run each ({a}, {b}), and how much runs vary is unknown"
                );
            }
            format!(
                "cannot tell: {first} of A and {second} of B are too few runs ({a}; {b}): {MIN_TRIALS_OF_INTERVAL} a side are needed"
            )
        }
        Some(NotComparable::NoSpread { first, second }) if first == second => {
            format!(
                "every run of both gave {}: no difference, and no spread for an interval",
                show(first)
            )
        }
        Some(NotComparable::NoSpread { first, second }) => format!(
            "every run of A gave {}, every one of B {}: no spread for an interval",
            show(first),
            show(second)
        ),
        Some(NotComparable::NotANumber) => "cannot tell: a result is not a number".to_owned(),
        Some(NotComparable::Units) => "cannot tell: the two are not in the same unit".to_owned(),
        Some(NotComparable::Empty { .. } | NotComparable::Confidence) | None => {
            "cannot tell".to_owned()
        }
    }
}
