//! The goodput of a direction: its rates over time, their mean and its interval.

use super::context::Context;
use super::rate_sample::RateSample;
use super::recovery::even_out_recoveries;
use caudal_core::plan::Direction;
use caudal_core::warning::{Warning, WarningCode};
use caudal_stats::{Estimate, batch_means_from, mann_kendall, mser};

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
                        direction.in_text()
                    ),
                )
                .with_remedy("transfer more bytes, or measure for a time"),
            );
        }
        return (None, false);
    }
    let mean = bytes as f64 * 8.0 / elapsed_s;
    // A last interval much shorter than the others is excluded: its rate would have the same weight.
    let usual = series.first().map_or(0.0, RateSample::length_s);
    let mut rates: Vec<f64> = series
        .iter()
        .filter(|sum| sum.length_s() >= 0.8 * usual)
        .map(|sum| sum.bps)
        .collect();
    even_out_recoveries(&mut rates, 2 * min_batch);
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
                direction.in_text(),
                if trend.s > 0 { "rising" } else { "falling" },
                trend.p
            ),
        ));
    }
    (Some(estimate), trusted)
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

/// The part by which a mean may exceed what the link can carry for that to be a matter of clocks.
const CLOCK_ERROR: f64 = 0.01;

/// The estimate with its interval within what the link can carry. A mean slightly above that keeps the interval up to itself; one
/// far above it shows that the link carries more than was said, and keeps its interval whole.
pub(super) fn at_most(goodput: Estimate, ceiling_bps: Option<f64>) -> Estimate {
    let max = ceiling_bps
        .filter(|max| goodput.mean <= max * (1.0 + CLOCK_ERROR))
        .map_or(f64::INFINITY, |max| max.max(goodput.mean));
    Estimate {
        high: goodput.high.min(max),
        ..goodput
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_stats::random::SplitMix64;

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
    fn two_rates_have_an_interval_that_is_not_relied_on() {
        let (_, trusted) = estimate(&steady(2), 1, 9.28e6, 0.95).unwrap();
        assert!(!trusted);
        assert!(estimate(&steady(1), 1, 9.28e6, 0.95).is_none());
    }

    /// Rates around 100 Mbit/s, each correlated with the one before by `phi`.
    fn autoregressive(random: &mut SplitMix64, n: usize, phi: f64) -> Vec<f64> {
        let mut deviation = 0.0;
        (0..n)
            .map(|_| {
                // The sum of twelve uniform numbers is nearly normal, with a variance of one.
                let uniform = |_| random.below(1 << 53) as f64 / (1_u64 << 53) as f64;
                let noise = (0..12).map(uniform).sum::<f64>() - 6.0;
                deviation = phi * deviation + noise * (1.0 - phi * phi).sqrt();
                1e8 + 5e6 * deviation
            })
            .collect()
    }

    #[test]
    fn intervals_that_are_relied_on_hold_the_rate_nearly_as_often_as_they_promise() {
        let mut random = SplitMix64::new(7);
        for phi in [0.0, 0.3, 0.6] {
            let (mut relied_on, mut holding) = (0_u32, 0_u32);
            for _ in 0..1000 {
                let rates = autoregressive(&mut random, 200, phi);
                let mean = rates.iter().sum::<f64>() / rates.len() as f64;
                let (estimate, trusted) = estimate(&rates, 1, mean, 0.95).unwrap();
                if trusted {
                    relied_on += 1;
                    holding += u32::from(estimate.low <= 1e8 && estimate.high >= 1e8);
                }
            }
            let share = f64::from(holding) / f64::from(relied_on);
            assert!(relied_on > 500, "{phi}: {relied_on}");
            assert!(share > 0.90, "{phi}: {share} of {relied_on}");
        }
    }

    #[test]
    fn a_link_that_carries_more_than_was_said_does_not_end_the_interval() {
        let estimate = Estimate {
            low: 1.9e7,
            high: 2.2e7,
            ..Estimate::single(2.0e7)
        };
        let high = |ceiling| at_most(estimate, Some(ceiling)).high;
        assert_eq!(high(2.1e7), 2.1e7);
        assert_eq!(high(1.99e7), 2.0e7);
        assert_eq!(high(1.0e7), 2.2e7);
    }
}
