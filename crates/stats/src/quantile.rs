//! Quantiles with their confidence, and the summary of a distribution.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::batch_means::batch_means;
use crate::critical::two_sided_z;
use crate::estimate::{Estimate, IntervalMethod};
use crate::special::binomial_cdf;
use crate::welford::Welford;

/// The value of rank `⌈q·n⌉` among `sorted` values; `None` when there are none or `q` is outside 0 to 1.
///
/// The result is always one of the values, never interpolated.
#[must_use]
pub fn nearest_rank(sorted: &[f64], q: f64) -> Option<f64> {
    rank(sorted.len() as u64, q).map(|rank| sorted[rank as usize - 1])
}

/// The quantile `q` of the finite among `values`, in any order, by [`nearest_rank`]; `None` without any.
#[must_use]
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    nearest_rank(&sorted, q)
}

/// The median of the finite among `values`, in any order, by [`nearest_rank`]: of an even number the lower of the two in the
/// middle. `None` without any.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The median as a step of an estimator: of an even number of values the mean of the two in the middle. `None` without values.
///
/// Theil and Sen's slope, Hodges and Lehmann's shift and the median absolute deviation are defined by it; the rank ⌈n/2⌉ of
/// [`median`], which is for values that are reported, would bias them.
#[must_use]
pub fn midpoint_median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = nearest_rank(&values, 0.5)?;
    Some(f64::midpoint(lower, upper))
}

/// The rank of quantile `q` among `n` values, from 1 to n; `None` when there are none or `q` is outside 0 to 1.
pub(crate) fn rank(n: u64, q: f64) -> Option<u64> {
    if n == 0 || !(0.0..=1.0).contains(&q) {
        return None;
    }
    // Rounding puts a product such as 0.07 · 100 a little above the integer.
    let exact = q * n as f64;
    Some(((exact - exact * 1e-12).ceil() as u64).clamp(1, n))
}

/// The ranks between which a quantile lies, with the probability that it does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QuantileRanks {
    /// The rank of the lower bound, from 1.
    pub low: u64,
    /// The rank of the upper bound, at most n.
    pub high: u64,
    /// The probability that the quantile lies between the two, at least the confidence asked for.
    pub coverage: f64,
}

/// The ranks among `n` independent values that enclose quantile `q` at `confidence`, whatever the distribution.
///
/// With equal tails: P(l ≤ B ≤ u-1) ≥ confidence for a binomial B(n, q); exact while n·q·(1-q) is at most a million, then by
/// the normal approximation. `None` when there are too few values for both bounds (see [`samples_needed_two_sided`]),
/// or q or the confidence is outside 0 to 1. Source: David and Nagaraja, "Order Statistics", section 7.1.
#[must_use]
pub fn quantile_ranks(n: u64, q: f64, confidence: f64) -> Option<QuantileRanks> {
    const MAX_EXACT_VARIANCE: f64 = 1e6;
    let z = two_sided_z(confidence)?;
    if !(q > 0.0 && q < 1.0) || n == 0 {
        return None;
    }
    let variance = n as f64 * q * (1.0 - q);
    if variance > MAX_EXACT_VARIANCE {
        let (middle, half) = (n as f64 * q, z * variance.sqrt());
        let (low, high) = ((middle - half).floor(), (middle + half).ceil() + 1.0);
        return (low >= 1.0 && high <= n as f64).then_some(QuantileRanks {
            low: low as u64,
            high: high as u64,
            coverage: confidence,
        });
    }
    let tail = (1.0 - confidence) / 2.0;
    let at_most = |k: u64| binomial_cdf(n, q, k);
    // The largest rank below which the probability is at most one tail.
    let lower = first(0, n, |k| at_most(k) > tail);
    let upper = first(0, n, |k| at_most(k) >= 1.0 - tail) + 1;
    if lower == 0 || upper > n {
        return None;
    }
    Some(QuantileRanks {
        low: lower,
        high: upper,
        coverage: at_most(upper - 1) - at_most(lower - 1),
    })
}

/// The first number from `low` to `high` at which the monotonic condition `holds`; `high` when there is none.
fn first(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// The number of samples that gives quantile `q` an upper bound at 95 % confidence, one-sided.
///
/// `⌈ln 0.05 / ln q⌉`: with fewer, the largest sample may lie below the quantile. `None` unless 0 < q < 1.
#[must_use]
pub fn samples_needed(q: f64) -> Option<u64> {
    samples_for(q, 0.05)
}

/// The number of samples that gives quantile `q` an upper bound at 97.5 % confidence, as a two-sided 95 % interval needs.
///
/// `None` unless 0 < q < 1.
#[must_use]
pub fn samples_needed_two_sided(q: f64) -> Option<u64> {
    samples_for(q, 0.025)
}

/// The nearest-rank quantile `q` of sorted values; `None` where they are fewer than [`samples_needed`].
#[must_use]
pub fn supported_quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let needed = samples_needed(q)?;
    nearest_rank(sorted, q).filter(|_| sorted.len() as u64 >= needed)
}

fn samples_for(q: f64, tail: f64) -> Option<u64> {
    (q > 0.0 && q < 1.0).then(|| (tail.ln() / q.ln()).ceil() as u64)
}

/// The summary of a distribution in the unit of its values, with percentiles only where there are enough samples for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DistributionSummary {
    /// The number of values.
    pub n: u64,
    /// The smallest value.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation, over n - 1; absent for a single value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// The median, present for any count.
    pub p50: f64,
    /// The 90th percentile; absent below 29 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90: Option<f64>,
    /// The 99th percentile; absent below 299 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// The 99.9th percentile; absent below 2 995 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9: Option<f64>,
    /// The largest value.
    pub max: f64,
    /// The lower end of the mean's interval.
    pub mean_low: f64,
    /// The upper end of the mean's interval.
    pub mean_high: f64,
    /// The confidence of the mean's interval, from 0 to 1.
    pub confidence: f64,
    /// The method that produced the mean's interval.
    pub method: IntervalMethod,
    /// `true` when the batches behind the mean's interval were numerous and independent enough to trust it.
    pub mean_trusted: bool,
}

impl DistributionSummary {
    /// Summarises values in time order, from which their autocorrelation and so the interval of the mean follow.
    ///
    /// The mean's interval comes from batch means, never from s/√n. `None` without values, when one is not finite, or
    /// for a confidence outside 0 to 1.
    #[must_use]
    pub fn from_series(values: &[f64], confidence: f64) -> Option<Self> {
        two_sided_z(confidence)?;
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let (mean, mean_trusted) = match values {
            [single] => (Estimate::single(*single), false),
            _ => {
                let batched = batch_means(values, confidence)?;
                (batched.estimate, batched.trusted)
            }
        };
        let statistics: Welford = values.iter().collect();
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len() as u64;
        let percentile = |q| supported_quantile(&sorted, q);
        Some(Self {
            n,
            min: *sorted.first()?,
            mean: mean.mean,
            sd: statistics.sd(),
            p50: nearest_rank(&sorted, 0.5)?,
            p90: percentile(0.9),
            p99: percentile(0.99),
            p99_9: percentile(0.999),
            max: *sorted.last()?,
            mean_low: mean.low,
            mean_high: mean.high,
            confidence: mean.confidence,
            method: mean.method,
            mean_trusted,
        })
    }

    /// The mean with its interval.
    #[must_use]
    pub fn mean_estimate(&self) -> Estimate {
        Estimate {
            mean: self.mean,
            low: self.mean_low,
            high: self.mean_high,
            confidence: self.confidence,
            n: self.n,
            method: self.method,
        }
    }
}

/// Corrects coordinated omission: adds the round trips a stop-and-wait probe did not measure while it waited for a slow one.
///
/// Every value v above the interval I between probes adds v-I, v-2I, … down to I. This is a guess; a probe that
/// keeps its schedule and measures from the intended time needs no correction. `None` unless the interval is positive
/// and finite, or when the result would exceed ten million values. Source: Tene, HdrHistogram.
#[must_use]
pub fn correct_coordinated_omission(values: &[f64], expected_interval: f64) -> Option<Vec<f64>> {
    const MAX_VALUES: f64 = 1e7;
    if !(expected_interval > 0.0 && expected_interval.is_finite()) {
        return None;
    }
    let missed = |value: f64| (value / expected_interval - 1.0 + 1e-9).floor().max(0.0);
    let total = values.len() as f64 + values.iter().map(|&value| missed(value)).sum::<f64>();
    if total > MAX_VALUES {
        return None;
    }
    let mut corrected = Vec::with_capacity(total as usize);
    for &value in values {
        corrected.push(value);
        let steps = 1..=missed(value) as u64;
        corrected.extend(steps.map(|step| value - step as f64 * expected_interval));
    }
    Some(corrected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_round_up_and_tolerate_rounding_of_binary_fractions() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        for (q, value) in [
            (0.0, 1.0),
            (0.07, 7.0),
            (0.5, 50.0),
            (0.501, 51.0),
            (0.99, 99.0),
            (1.0, 100.0),
        ] {
            assert_eq!(nearest_rank(&hundred, q), Some(value), "{q}");
        }
        assert_eq!(nearest_rank(&[], 0.5), None);
        assert_eq!(nearest_rank(&hundred, 1.1), None);
        assert_eq!(nearest_rank(&hundred, f64::NAN), None);
    }

    #[test]
    fn a_quantile_of_values_in_any_order_is_one_of_the_finite() {
        let values = [9.0, f64::NAN, 1.0, f64::INFINITY, 4.0, 2.0];
        for (q, value) in [(0.0, 1.0), (0.5, 2.0), (0.75, 4.0), (1.0, 9.0)] {
            assert_eq!(quantile(&values, q), Some(value), "{q}");
        }
        assert_eq!(median(&values), Some(2.0));
        assert_eq!(median(&[f64::NAN]), None);
    }

    #[test]
    fn the_median_of_an_estimator_lies_between_the_two_in_the_middle() {
        assert_eq!(midpoint_median(vec![]), None);
        assert_eq!(midpoint_median(vec![3.0]), Some(3.0));
        assert_eq!(midpoint_median(vec![9.0, 1.0, 4.0]), Some(4.0));
        assert_eq!(midpoint_median(vec![9.0, 1.0, 4.0, 2.0]), Some(3.0));
    }

    #[test]
    fn a_quantile_lies_between_two_ranks_whatever_the_distribution() {
        for (n, q, low, high, coverage) in [
            (20, 0.5, 6, 15, "0.9586"),
            (1000, 0.99, 983, 997, "0.9761"),
            (1000, 0.5, 469, 532, "0.9537"),
            (10_000, 0.999, 9983, 9997, "0.9755"),
        ] {
            let ranks = quantile_ranks(n, q, 0.95).unwrap();
            assert_eq!((ranks.low, ranks.high), (low, high), "{q} of {n}");
            assert_eq!(format!("{:.4}", ranks.coverage), coverage);
        }
    }

    #[test]
    fn the_exact_and_the_approximate_ranks_agree_where_they_meet() {
        let exact = quantile_ranks(3_990_000, 0.5, 0.95).unwrap();
        let approximate = quantile_ranks(4_010_000, 0.5, 0.95).unwrap();
        let widths = [exact, approximate].map(|ranks| (ranks.high - ranks.low) as f64);
        assert!((widths[0] / widths[1] - 1.0).abs() < 0.005, "{widths:?}");
    }

    #[test]
    fn too_few_values_bound_no_quantile() {
        assert_eq!(quantile_ranks(367, 0.99, 0.95), None);
        assert!(quantile_ranks(368, 0.99, 0.95).is_some());
        assert_eq!(quantile_ranks(0, 0.5, 0.95), None);
        assert_eq!(quantile_ranks(100, 1.0, 0.95), None);
        assert_eq!(quantile_ranks(100, 0.5, f64::NAN), None);
    }

    #[test]
    fn the_samples_a_percentile_needs_grow_with_it() {
        let quantiles = [0.9, 0.95, 0.99, 0.999, 0.9999];
        assert_eq!(
            quantiles.map(samples_needed),
            [29, 59, 299, 2995, 29_956].map(Some)
        );
        assert_eq!(
            quantiles.map(samples_needed_two_sided),
            [36, 72, 368, 3688, 36_887].map(Some)
        );
        assert_eq!(samples_needed(1.0), None);
        assert_eq!(samples_needed(f64::NAN), None);
    }

    #[test]
    fn a_distribution_leaves_out_percentiles_it_has_too_few_samples_for() {
        let values: Vec<f64> = (0..298).map(|i| f64::from(i * 37 % 298)).collect();
        let few = DistributionSummary::from_series(&values, 0.95).unwrap();
        assert_eq!((few.n, few.min, few.max, few.p50), (298, 0.0, 297.0, 148.0));
        assert_eq!((few.p90, few.p99, few.p99_9), (Some(268.0), None, None));
        let more: Vec<f64> = (0..299).map(f64::from).collect();
        assert_eq!(
            DistributionSummary::from_series(&more, 0.95).unwrap().p99,
            Some(296.0)
        );
    }

    #[test]
    fn the_mean_of_a_distribution_has_an_interval_from_batch_means() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * 37 % 100)).collect();
        let summary = DistributionSummary::from_series(&values, 0.95).unwrap();
        assert_eq!(summary.method, IntervalMethod::BatchMeansT);
        assert_eq!(
            summary.mean_estimate(),
            batch_means(&values, 0.95).unwrap().estimate
        );
        let single = DistributionSummary::from_series(&[3.0], 0.95).unwrap();
        assert_eq!(
            (single.p50, single.sd, single.method),
            (3.0, None, IntervalMethod::SingleValue)
        );
        assert_eq!(DistributionSummary::from_series(&[], 0.95), None);
        assert_eq!(
            DistributionSummary::from_series(&[1.0, f64::NAN], 0.95),
            None
        );
    }

    #[test]
    fn correcting_coordinated_omission_adds_the_probes_that_a_stall_suppressed() {
        let mut values = vec![1.0; 99];
        values.push(100.0);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert_eq!(nearest_rank(&values, 0.99), Some(1.0));
        assert_eq!(format!("{:.2}", mean(&values)), "1.99");
        let mut corrected = correct_coordinated_omission(&values, 10.0).unwrap();
        assert_eq!(corrected.len(), 109);
        assert_eq!(format!("{:.3}", mean(&corrected)), "5.954");
        corrected.sort_by(f64::total_cmp);
        assert_eq!(nearest_rank(&corrected, 0.95), Some(50.0));
        assert_eq!(nearest_rank(&corrected, 0.99), Some(90.0));
    }

    #[test]
    fn a_correction_of_unbounded_size_is_refused() {
        assert_eq!(correct_coordinated_omission(&[1.0], 0.0), None);
        assert_eq!(correct_coordinated_omission(&[1e300], 1e-300), None);
        assert_eq!(correct_coordinated_omission(&[f64::INFINITY], 1.0), None);
        assert_eq!(correct_coordinated_omission(&[], 1.0), Some(vec![]));
    }

    proptest! {
        #[test]
        fn no_values_make_a_summary_panic(values: Vec<f64>, q: f64, n: u64, interval: f64) {
            let _ = DistributionSummary::from_series(&values, q);
            let _ = (nearest_rank(&values, q), samples_needed(q));
            let _ = quantile_ranks(n, q.abs().fract(), 0.95);
            let _ = correct_coordinated_omission(&values, interval);
        }

        #[test]
        fn the_ranks_enclose_the_quantile_with_the_confidence_requested(n in 10_u64..2000, q in 0.01..0.99_f64) {
            if let Some(ranks) = quantile_ranks(n, q, 0.9) {
                prop_assert!(ranks.coverage >= 0.9 - 1e-9);
                prop_assert!(1 <= ranks.low && ranks.low < ranks.high && ranks.high <= n);
            }
        }
    }
}
