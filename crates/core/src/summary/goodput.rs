//! The goodput of a direction: its rates over time, their mean and its interval.

use super::context::Context;
use crate::arrivals::ArrivalSeries;
use crate::interval::Interval;
use crate::plan::Direction;
use crate::warning::{Warning, WarningCode};
use caudal_stats::{Estimate, batch_means_from, mann_kendall, mser};

/// All flows of a direction between the same two readings.
#[derive(Debug, Clone, Copy)]
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

/// The rates of a direction between the readings of what arrived, from `from_s` to `until_s`, where they are finer than its intervals.
pub(super) fn finer_samples(
    arrivals: Option<&ArrivalSeries>,
    intervals: &[RateSample],
    (from_s, until_s): (f64, f64),
) -> Option<Vec<RateSample>> {
    let rates = arrivals?.rates(from_s, until_s);
    (rates.len() > intervals.len()).then(|| {
        rates
            .iter()
            .map(|rate| RateSample {
                start_s: rate.start_s,
                end_s: rate.end_s,
                bytes: rate.bytes,
                bps: rate.bps(),
            })
            .collect()
    })
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
    min_batch: usize,
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
    let Some((estimate, trusted)) = estimate(&rates, min_batch, mean, context.confidence) else {
        return (Some(Estimate::single(mean)), false);
    };
    let half = estimate.half_width();
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
    (Some(estimate), trusted)
}

/// The round trips within which TCP makes up for a lost segment: what arrived after it is handed over when its retransmission has come.
const RECOVERY_ROUND_TRIPS: f64 = 4.0;

/// The number of `samples` that cover the time in which TCP makes up for a loss, for a round-trip time in µs.
pub(super) fn recovery_samples(samples: &[RateSample], rtt_us: Option<f64>) -> usize {
    let length_s = samples
        .first()
        .map_or(0.0, |sample| sample.end_s - sample.start_s);
    let recovery_s = RECOVERY_ROUND_TRIPS * rtt_us.unwrap_or(0.0) / 1e6;
    if length_s > 0.0 {
        (recovery_s / length_s).ceil() as usize
    } else {
        1
    }
}

/// The `mean` of a direction with an interval from its `rates`, and `true` when that can be relied on; `None` for fewer than two rates.
/// The batches of rates have at least `min_batch`.
///
/// The rates at the beginning, in which a transport finds out what the path carries, are no sample of the rates that follow. Where
/// MSER tells them apart, the interval is that of the others by batch means, widened to the mean of both: it covers the rate with its
/// start and without.
fn estimate(
    rates: &[f64],
    min_batch: usize,
    mean: f64,
    confidence: f64,
) -> Option<(Estimate, bool)> {
    let start = mser(rates)
        .filter(|found| !found.rejected)
        .map_or(0, |found| found.drop);
    let found = batch_means_from(&rates[start..], min_batch, confidence)?;
    let half = found.estimate.half_width();
    let steady = if start == 0 {
        mean
    } else {
        found.estimate.mean
    };
    let estimate = Estimate {
        mean,
        low: (mean.min(steady) - half).max(0.0),
        high: mean.max(steady) + half,
        ..found.estimate
    };
    Some((estimate, found.trusted))
}

/// The estimate with its interval within what the link can carry; a mean above that keeps the interval up to itself.
pub(super) fn at_most(goodput: Estimate, ceiling_bps: Option<f64>) -> Estimate {
    let max = ceiling_bps.map_or(f64::INFINITY, |max| max.max(goodput.mean));
    Estimate {
        high: goodput.high.min(max),
        ..goodput
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of a link of 10 Mbit/s in steps of 100 ms, each a packet more or less than the last.
    fn steady(n: usize) -> Vec<f64> {
        (0..n)
            .map(|nth| 9.28e6 + if nth % 3 == 0 { 1.2e5 } else { -0.6e5 })
            .collect()
    }

    #[test]
    fn ten_seconds_of_a_steady_link_are_enough() {
        let (estimate, trusted) = estimate(&steady(100), 1, 9.28e6, 0.95).unwrap();
        assert!(trusted);
        assert!(
            estimate.low > 9.2e6 && estimate.high < 9.36e6,
            "{estimate:?}"
        );
    }

    #[test]
    fn a_slow_start_widens_the_interval_to_the_rate_with_it_and_without() {
        let mut rates = vec![0.0, 1.0e6, 3.0e6, 7.0e6];
        rates.extend(steady(96));
        let mean = rates.iter().sum::<f64>() / 100.0;
        let (estimate, trusted) = estimate(&rates, 1, mean, 0.95).unwrap();
        assert!(trusted);
        assert!(
            estimate.low < mean && estimate.high > 9.28e6,
            "{estimate:?}"
        );
        assert!(estimate.half_width() < 0.25e6, "{estimate:?}");
    }

    #[test]
    fn a_loss_that_is_made_up_for_widens_the_interval_less() {
        let half = |at: usize, min_batch| {
            let mut rates = steady(80);
            rates.splice(at..at + 4, [5.5e6, 0.0, 11.6e6, 20.0e6]);
            let mean = rates.iter().sum::<f64>() / 80.0;
            let (estimate, trusted) = estimate(&rates, min_batch, mean, 0.95).unwrap();
            assert!(trusted);
            estimate.half_width()
        };
        let over_places = |min_batch| (45..75).map(|at| half(at, min_batch)).sum::<f64>() / 30.0;
        let (each, joined) = (over_places(1), over_places(6));
        assert!(joined < 0.7 * each, "{joined} {each}");
    }

    #[test]
    fn a_recovery_takes_a_few_round_trips() {
        let sample = |nth: u32| RateSample {
            start_s: f64::from(nth) / 10.0,
            end_s: f64::from(nth + 1) / 10.0,
            bytes: 0,
            bps: 0.0,
        };
        let samples: Vec<RateSample> = (0..80).map(sample).collect();
        assert_eq!(recovery_samples(&samples, Some(148_000.0)), 6);
        assert_eq!(recovery_samples(&samples, None), 0);
        assert_eq!(recovery_samples(&[], Some(148_000.0)), 1);
    }

    #[test]
    fn two_rates_have_an_interval_that_is_not_relied_on() {
        let (_, trusted) = estimate(&steady(2), 1, 9.28e6, 0.95).unwrap();
        assert!(!trusted);
        assert!(estimate(&steady(1), 1, 9.28e6, 0.95).is_none());
    }
}
