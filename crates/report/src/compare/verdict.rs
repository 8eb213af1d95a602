//! The verdict on a metric, in a sentence.

use caudal_core::quantity::Unit;
use caudal_experiment::Metric;
use caudal_stats::{NotComparable, SideSummary};

use super::comparison::ComparedMetric;
use super::format::{trimmed, value_text};
use super::side::find_metric;

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
        return cannot(cell, &show);
    };
    let difference = found.difference;
    let level = percent(confidence);
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
            "B is {}{relative} {}: {level} interval {} to {}{also}",
            show(difference.mean.abs()),
            word(&cell.metric, cell.unit, above),
            show(low),
            show(high),
        );
    }
    if let Some(near) = near {
        return format!("no difference that matters: {near}, shown at {level}");
    }
    if difference.low > 0.0 || difference.high < 0.0 {
        return format!(
            "cannot tell: significant by itself, but not among {count} comparisons \
             (adjusted p {:.2})",
            found.adjusted_p
        );
    }
    format!(
        "cannot tell: B is between {} {} and {} {} ({level} interval)",
        show(-difference.low),
        word(&cell.metric, cell.unit, false),
        show(difference.high),
        word(&cell.metric, cell.unit, true),
    )
}

/// The reason why a metric has no result, in a sentence.
fn cannot(cell: &ComparedMetric, show: &dyn Fn(f64) -> String) -> String {
    match cell.cannot {
        Some(NotComparable::TooFew { first, second }) => {
            let mean = |side: Option<SideSummary>| {
                side.map_or_else(|| "-".to_owned(), |side| show(side.mean.mean))
            };
            let (a, b) = (mean(cell.first), mean(cell.second));
            let runs = match (first, second) {
                (1, 1) => "one run each cannot be compared".to_owned(),
                (1, more) => format!("one run of A cannot be compared with {more} of B"),
                (more, _) => format!("{more} runs of A cannot be compared with one of B"),
            };
            format!("cannot tell: {runs} (A {a}, B {b}): the variation between runs is unknown")
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
