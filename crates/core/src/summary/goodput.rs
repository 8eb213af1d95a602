//! The goodput of a direction: its rates over time, their mean and its interval.

use super::context::Context;
use crate::interval::Interval;
use crate::plan::Direction;
use crate::warning::{Warning, WarningCode};
use caudal_stats::{Estimate, batch_means, mann_kendall, mser};

/// All flows of a direction between the same two ticks.
pub(super) struct RateSample {
    start_s: f64,
    pub(super) end_s: f64,
    pub(super) bytes: u64,
    bps: f64,
}

/// The rates of a direction over its measured intervals.
pub(super) fn rate_samples(intervals: &[Vec<Interval>]) -> Vec<RateSample> {
    let longest = intervals.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .filter_map(|nth| {
            let row: Vec<&Interval> = intervals.iter().filter_map(|flow| flow.get(nth)).collect();
            if row.first()?.omitted {
                return None;
            }
            Some(RateSample {
                start_s: row.iter().map(|i| i.start_s).fold(f64::INFINITY, f64::min),
                end_s: row.iter().map(|i| i.end_s).fold(0.0, f64::max),
                bytes: row.iter().filter_map(|i| i.bytes).sum(),
                bps: row.iter().filter_map(|i| i.goodput_bps).sum(),
            })
        })
        .collect()
}

/// The number of intervals that MSER finds to be warm-up.
pub(super) fn warm_up_intervals(series: &[RateSample], warnings: &mut Vec<Warning>) -> usize {
    let rates: Vec<f64> = series.iter().map(|sum| sum.bps).collect();
    match mser(&rates) {
        Some(found) if !found.rejected => found.drop,
        Some(_) => {
            warnings.push(
                Warning::new(
                    WarningCode::NotSteady,
                    "MSER finds no steady part in this test: more than half of it would be warm-up",
                )
                .with_remedy("measure longer"),
            );
            0
        }
        None => {
            warnings.push(
                Warning::new(
                    WarningCode::TooShort,
                    format!("{} intervals are too few to find the warm-up", series.len()),
                )
                .with_remedy("measure longer, or with a shorter interval: at least 10 intervals"),
            );
            0
        }
    }
}

/// The goodput of a direction with its interval, and `true` when that can be relied on.
pub(super) fn goodput(
    context: &Context<'_>,
    series: &[RateSample],
    bytes: u64,
    elapsed_s: f64,
    direction: Direction,
    warnings: &mut Vec<Warning>,
) -> (Option<Estimate>, bool) {
    if elapsed_s <= 0.0 {
        if bytes > 0 {
            warnings.push(
                Warning::new(
                    WarningCode::TooShort,
                    format!(
                        "{}: all bytes arrived at once, in less time than can be measured",
                        direction.name()
                    ),
                )
                .with_remedy("transfer more bytes, or measure for a time"),
            );
        }
        return (None, false);
    }
    let mean = bytes as f64 * 8.0 / elapsed_s;
    // A last interval much shorter than the others is excluded: its rate would have the same weight.
    let usual = series.first().map_or(0.0, |sum| sum.end_s - sum.start_s);
    let rates: Vec<f64> = series
        .iter()
        .filter(|sum| sum.end_s - sum.start_s >= 0.8 * usual)
        .map(|sum| sum.bps)
        .collect();
    let Some(found) = batch_means(&rates, context.confidence) else {
        return (Some(Estimate::single(mean)), false);
    };
    let half = found.estimate.half_width();
    let estimate = Estimate {
        mean,
        low: (mean - half).max(0.0),
        high: mean + half,
        ..found.estimate
    };
    if rates.len() >= 10
        && let Some(trend) = mann_kendall(&rates)
        && trend.p < 0.001
        && half / mean > 0.02
    {
        warnings.push(Warning::new(
            WarningCode::NotSteady,
            format!(
                "{}: the rate kept {} over the test (Mann-Kendall p = {:.1e})",
                direction.name(),
                if trend.s > 0 { "rising" } else { "falling" },
                trend.p
            ),
        ));
    }
    (Some(estimate), found.trusted)
}
