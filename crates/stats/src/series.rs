//! Values in time order within one run: how they hang together, when they settle, whether they hold.

use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, Method, Welford, two_sided_t};
use super::special::normal_two_sided;

/// The correlation of each value with the next.
///
/// `Σ(xᵢ-x̄)(xᵢ₊₁-x̄) / Σ(xᵢ-x̄)²`. `None` for fewer than two values or without any spread.
#[must_use]
pub fn lag1(values: &[f64]) -> Option<f64> {
    let seen: Welford = values.iter().collect();
    let mean = seen.mean()?;
    let spread: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    let correlation = products / spread;
    (values.len() > 1 && correlation.is_finite()).then_some(correlation)
}

/// How many independent values `n` values with lag-1 correlation `rho` are worth.
///
/// `n (1-ρ)/(1+ρ)`, for a first-order autoregressive series. `None` unless -1 < ρ < 1.
#[must_use]
pub fn effective_sample_size(n: u64, rho: f64) -> Option<f64> {
    (rho > -1.0 && rho < 1.0).then(|| n as f64 * (1.0 - rho) / (1.0 + rho))
}

/// The factor by which lag-1 correlation `rho` widens the interval of a mean.
///
/// `√((1+ρ)/(1-ρ))`, for a first-order autoregressive series. `None` unless -1 < ρ < 1.
#[must_use]
pub fn interval_inflation(rho: f64) -> Option<f64> {
    (rho > -1.0 && rho < 1.0).then(|| ((1.0 + rho) / (1.0 - rho)).sqrt())
}

/// The mean of a correlated series with an interval from batches of about `batch` values.
///
/// Batch means are taken for independent, with one degree of freedom less than there are batches. Values left over by
/// the division make some batches longer by one or more, so the mean is that of all values, and `n` counts them all.
/// `None` for fewer than two batches. Source: Law, "Simulation Modeling and Analysis", section 9.5.
#[must_use]
pub fn batch_means_of(values: &[f64], batch: usize, confidence: f64) -> Option<Estimate> {
    let batches = values.len().checked_div(batch)?;
    Batches::of(values)?.estimate(batches, confidence, 1.0)
}

/// The mean of a correlated series, and the batches its interval was made from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BatchMeans {
    /// The mean and its interval.
    pub estimate: Estimate,
    /// How many batches there were.
    pub batches: u64,
    /// Values in a batch; some may have more.
    pub batch_size: u64,
    /// The lag-1 correlation left between the batch means; zero when they do not differ.
    pub lag1: f64,
    /// Whether the batch means are uncorrelated enough, and the series long enough, for the interval to be believed.
    pub trusted: bool,
}

/// The mean of a correlated series, with batches as large as it takes to make their means nearly independent.
///
/// Batches grow until the lag-1 correlation of their means is below 0.2 while there are at least ten; what correlation is left then
/// widens the interval as in a first-order autoregressive series, `√((1+ρ)/(1-ρ))`. ρ is the correlation seen plus one over the
/// number of batches, by which it is seen too small (Marriott and Pope, "Bias in the Estimation of Autocorrelations", 1954), and
/// nothing when negative. The interval is trusted where, besides, the whole series is worth 40 independent values
/// ([`effective_sample_size`]): short series hide how strongly they are correlated. Failing that the widest interval found is given
/// and not trusted, over no fewer than ten batches, or three in a series of less than 40 values. `None` for fewer than two values.
///
/// Source: Law; Alexopoulos and Seila, "Output Data Analysis", 1998; the correction as in Tafazzoli and Wilson, "Skart: A skewness-
/// and autoregression-adjusted batch-means procedure for simulation analysis", 2011.
#[must_use]
pub fn batch_means(values: &[f64], confidence: f64) -> Option<BatchMeans> {
    const CORRELATED: f64 = 0.2;
    const ENOUGH: usize = 10;
    const WORTH: f64 = 40.0;
    let n = values.len();
    let all = Batches::of(values)?;
    let fewest = (n / 4).clamp(3, ENOUGH).min(n);
    let worth = match lag1(values) {
        Some(seen) => effective_sample_size(n as u64, remaining(Some(seen), n))?,
        // Without any spread one value is worth as much as all.
        None => WORTH,
    };
    let mut widest: Option<BatchMeans> = None;
    let mut batch_size = 1;
    while n / batch_size >= fewest {
        let batches = n / batch_size;
        let lag1 = lag1(&all.means(batches));
        let left = remaining(lag1, batches);
        let independent = left < CORRELATED && batches >= ENOUGH;
        let found = BatchMeans {
            estimate: all.estimate(batches, confidence, interval_inflation(left)?)?,
            batches: batches as u64,
            batch_size: batch_size as u64,
            lag1: lag1.unwrap_or(0.0),
            trusted: independent && worth >= WORTH,
        };
        if found.trusted {
            return Some(found);
        }
        if widest.is_none_or(|so_far| found.estimate.half_width() > so_far.estimate.half_width()) {
            widest = Some(found);
        }
        // Larger batches of a series that is too short for any only lose degrees of freedom.
        if independent {
            break;
        }
        batch_size += (batch_size / 4).max(1);
    }
    widest
}

/// The lag-1 correlation that `n` values may have when `seen` is what they show, from 0 to nearly 1.
fn remaining(seen: Option<f64>, n: usize) -> f64 {
    const MOST: f64 = 0.99;
    // Without any spread there is nothing to correlate.
    seen.map_or(0.0, |seen| (seen + (n as f64).recip()).clamp(0.0, MOST))
}

/// A series prepared for batches of any size: sums from the start, taken around the mean to keep their digits.
struct Batches {
    mean: f64,
    sums: Vec<f64>,
}

impl Batches {
    fn of(values: &[f64]) -> Option<Self> {
        let seen: Welford = values.iter().collect();
        let mean = seen.mean()?;
        let mut sum = 0.0;
        let mut sums = Vec::with_capacity(values.len() + 1);
        sums.push(sum);
        for value in values {
            sum += value - mean;
            sums.push(sum);
        }
        sum.is_finite().then_some(Self { mean, sums })
    }

    /// The means of that many batches of as equal a size as can be, relative to the mean of all.
    fn means(&self, batches: usize) -> Vec<f64> {
        let n = self.sums.len() - 1;
        let edge = |batch: usize| (batch as u128 * n as u128 / batches.max(1) as u128) as usize;
        (0..batches)
            .map(|batch| {
                let (from, to) = (edge(batch), edge(batch + 1));
                (self.sums[to] - self.sums[from]) / (to - from) as f64
            })
            .collect()
    }

    /// The mean with its interval, `wider` than that of independent batches.
    fn estimate(&self, batches: usize, confidence: f64, wider: f64) -> Option<Estimate> {
        let seen: Welford = self.means(batches).iter().collect();
        let t = two_sided_t(confidence, batches as f64 - 1.0)?;
        let half_width = t * wider * seen.sd()? / (batches as f64).sqrt();
        let n = self.sums.len() - 1;
        Estimate::around(self.mean, half_width, confidence, n, Method::BatchMeansT)
    }
}

/// Where the warm-up of a series ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mser {
    /// How many values to drop from the front.
    pub drop: usize,
    /// Whether that is more than half of them: the run was too short to settle.
    pub rejected: bool,
}

/// The warm-up to drop so that the mean of the rest has the smallest marginal standard error.
///
/// The d that minimises `Σ_{i>d} (xᵢ-x̄_d)² / (n-d)²`, the smallest of equals, with five values left at least because
/// the statistic is zero for one. `None` for fewer than ten values. Source: White, "An Effective Truncation Heuristic
/// for Bias Reduction in Simulation Output", 1997.
#[must_use]
pub fn mser(values: &[f64]) -> Option<Mser> {
    const FEWEST: usize = 10;
    const KEPT: usize = 5;
    let n = values.len();
    if n < FEWEST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let statistics = mser_statistics(values);
    let drop = (0..=n - KEPT).min_by(|&a, &b| statistics[a].total_cmp(&statistics[b]))?;
    Some(Mser {
        drop,
        rejected: drop > n / 2,
    })
}

/// As [`mser`] over the means of five values each, less taken in by single ones; `drop` counts values.
///
/// `None` for fewer than fifty values. Source: White, Cobb, Spratt, "A Comparison of Five Steady-State Truncation
/// Heuristics for Simulation", 2000.
#[must_use]
pub fn mser5(values: &[f64]) -> Option<Mser> {
    let means: Vec<f64> = values
        .chunks_exact(5)
        .map(|five| five.iter().sum::<f64>() / 5.0)
        .collect();
    let Mser { drop, rejected } = mser(&means)?;
    Some(Mser {
        drop: drop * 5,
        rejected,
    })
}

/// The statistic for every number of dropped values.
fn mser_statistics(values: &[f64]) -> Vec<f64> {
    let mut kept = Welford::new();
    let mut statistics: Vec<f64> = values
        .iter()
        .rev()
        .map(|value| {
            kept.push(*value);
            let n = kept.n() as f64;
            kept.variance().unwrap_or(0.0) * (n - 1.0) / (n * n)
        })
        .collect();
    statistics.reverse();
    statistics
}

/// The standard deviation as a fraction of the mean's magnitude; `None` for fewer than two values or a zero mean.
#[must_use]
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let seen: Welford = values.iter().collect();
    let variation = seen.sd()? / seen.mean()?.abs();
    variation.is_finite().then_some(variation)
}

/// How well two series of equal length are proportional: 1 when exactly.
///
/// `Σxy / √(Σx² Σy²)`, what neper calls the correlation of cumulative work with time. It forgives much; prefer
/// [`max_relative_residual`]. `None` for unequal lengths, empty or all-zero series.
#[must_use]
pub fn uncentred_correlation(xs: &[f64], ys: &[f64]) -> Option<f64> {
    if xs.len() != ys.len() {
        return None;
    }
    let products: f64 = xs.iter().zip(ys).map(|(x, y)| x * y).sum();
    let (x2, y2): (f64, f64) = (
        xs.iter().map(|x| x * x).sum(),
        ys.iter().map(|y| y * y).sum(),
    );
    let correlation = products / (x2.sqrt() * y2.sqrt());
    correlation.is_finite().then_some(correlation)
}

/// How far cumulative work strays from a straight line between its first and last point, as a fraction of all work.
///
/// `at` are times in any unit, `work` the amounts done by then; both grow. 0 is perfectly steady; 0.25 means that at
/// some time a quarter of the work was done too early or too late. `None` for fewer than two points, unequal lengths,
/// or when no time passed or nothing was done.
#[must_use]
pub fn max_relative_residual(at: &[f64], work: &[f64]) -> Option<f64> {
    let (&start, &end) = (at.first()?, at.last()?);
    let (&before, &after) = (work.first()?, work.last()?);
    let grew = end > start && after > before;
    if at.len() != work.len() || !grew {
        return None;
    }
    at.iter().zip(work).try_fold(0.0_f64, |most, (at, work)| {
        let expected = (at - start) / (end - start);
        let done = (work - before) / (after - before);
        let residual = (done - expected).abs();
        residual.is_finite().then(|| most.max(residual))
    })
}

/// Whether a series rises or falls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MannKendall {
    /// Pairs that rise less pairs that fall.
    pub s: i64,
    /// `s` in standard deviations, with continuity correction.
    pub z: f64,
    /// The probability of so strong a trend, either way, in values without one.
    pub p: f64,
}

/// The Mann–Kendall test for a trend, with ties, by the normal approximation.
///
/// `None` for fewer than three values or when all are equal. It takes values for independent: correlation within a run
/// makes `p` too small. Source: Mann 1945; Kendall, "Rank Correlation Methods", 1975.
#[must_use]
pub fn mann_kendall(values: &[f64]) -> Option<MannKendall> {
    let n = values.len() as i128;
    if n < 3 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    let falls = sort_counting_inversions(&mut sorted);
    let mut ties = 0;
    let mut tie_term = 0;
    for equal in sorted.chunk_by(|a, b| a == b) {
        let t = equal.len() as i128;
        ties += t * (t - 1) / 2;
        tie_term += t * (t - 1) * (2 * t + 5);
    }
    let s = n * (n - 1) / 2 - ties - 2 * i128::from(falls);
    let variance = (n * (n - 1) * (2 * n + 5) - tie_term) as f64 / 18.0;
    if variance <= 0.0 {
        return None;
    }
    let z = (s - s.signum()) as f64 / variance.sqrt();
    Some(MannKendall {
        s: i64::try_from(s).ok()?,
        z,
        p: normal_two_sided(z),
    })
}

/// Sorts by merging and counts the pairs that were the wrong way round.
fn sort_counting_inversions(values: &mut [f64]) -> u64 {
    let n = values.len();
    let mut inversions = 0;
    let mut merged = values.to_vec();
    let mut width = 1;
    while width < n {
        for start in (0..n).step_by(2 * width) {
            let middle = (start + width).min(n);
            let end = (start + 2 * width).min(n);
            let (mut left, mut right) = (start, middle);
            for slot in &mut merged[start..end] {
                if left < middle && (right >= end || values[left] <= values[right]) {
                    *slot = values[left];
                    left += 1;
                } else {
                    *slot = values[right];
                    right += 1;
                    inversions += (middle - left) as u64;
                }
            }
        }
        values.copy_from_slice(&merged);
        width *= 2;
    }
    inversions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const X: [f64; 12] = [
        94.1, 94.3, 94.0, 93.2, 92.8, 93.0, 94.4, 94.6, 94.5, 93.9, 93.7, 93.8,
    ];
    const Y: [f64; 12] = [
        10.0, 30.0, 55.0, 80.0, 92.0, 95.0, 94.0, 96.0, 95.0, 94.0, 95.0, 96.0,
    ];

    /// Noise around 100 that remembers `rho` of the previous value; the same on every call.
    fn remembering(rho: f64, n: usize) -> Vec<f64> {
        let mut state = 1_u64;
        let mut value = 0.0;
        (0..n)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                value = rho * value + (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
                100.0 + value
            })
            .collect()
    }

    #[test]
    fn values_within_a_run_are_worth_fewer_independent_ones() {
        for (rho, worth, wider) in [
            (0.3, "16.2", "1.363"),
            (0.6, "7.5", "2.000"),
            (0.9, "1.58", "4.359"),
        ] {
            let n = effective_sample_size(30, rho).unwrap();
            let decimals = worth.len() - worth.find('.').unwrap() - 1;
            assert_eq!(format!("{n:.decimals$}"), worth);
            assert_eq!(format!("{:.3}", interval_inflation(rho).unwrap()), wider);
        }
        assert_eq!(effective_sample_size(30, 1.0), None);
        assert_eq!(interval_inflation(-1.0), None);
        assert_eq!(interval_inflation(f64::NAN), None);
    }

    #[test]
    fn correlated_seconds_need_a_wider_interval_than_they_seem_to() {
        let seen: Welford = X.iter().collect();
        assert_eq!(format!("{:.4}", seen.mean().unwrap()), "93.8583");
        assert_eq!(format!("{:.6}", seen.sd().unwrap()), "0.591544");
        assert_eq!(format!("{:.4}", lag1(&X).unwrap()), "0.5516");
        let naive = crate::mean_interval(&X, 0.95).unwrap();
        assert_eq!(format!("{:.5}", naive.half_width()), "0.37585");

        let means = Batches::of(&X).unwrap().means(4);
        let means: Vec<String> = means
            .iter()
            .map(|m| format!("{:.4}", m + seen.mean().unwrap()))
            .collect();
        assert_eq!(means, ["94.1333", "93.0000", "94.5000", "93.8000"]);
        let batched = batch_means_of(&X, 3, 0.95).unwrap();
        assert_eq!(format!("{:.5}", batched.half_width()), "1.01784");
        let sd_of_batches = batched.half_width() * 2.0 / two_sided_t(0.95, 3.0).unwrap();
        assert_eq!(format!("{sd_of_batches:.6}"), "0.639661");
        assert_eq!(format!("{:.4}", batched.mean), "93.8583");
        assert_eq!((batched.n, batched.method), (12, Method::BatchMeansT));
    }

    #[test]
    fn a_short_correlated_series_gets_the_widest_interval_and_no_trust() {
        let batched = batch_means(&X, 0.95).unwrap();
        assert!(!batched.trusted);
        assert_eq!((batched.batches, batched.batch_size), (4, 3));
        assert_eq!(format!("{:.5}", batched.estimate.half_width()), "1.01784");
    }

    #[test]
    fn batches_grow_until_their_means_are_independent() {
        let independent = batch_means(&remembering(0.0, 1000), 0.95).unwrap();
        assert_eq!((independent.batch_size, independent.trusted), (1, true));
        let correlated = batch_means(&remembering(0.9, 10_000), 0.95).unwrap();
        assert!(correlated.trusted && correlated.batch_size > 10);
        assert!(correlated.lag1.abs() < 0.2 && correlated.batches >= 10);
    }

    #[test]
    fn a_series_without_spread_has_an_interval_without_width() {
        let flat = batch_means(&[7.0; 20], 0.95).unwrap();
        assert_eq!((flat.estimate.half_width(), flat.trusted), (0.0, true));
    }

    #[test]
    fn one_value_makes_no_batches() {
        assert_eq!(batch_means(&[], 0.95), None);
        assert_eq!(batch_means(&[1.0], 0.95), None);
        assert_eq!(batch_means_of(&X, 0, 0.95), None);
        assert_eq!(batch_means_of(&X, 7, 0.95), None);
        assert_eq!(lag1(&[1.0]), None);
        assert_eq!(lag1(&[1.0, 1.0]), None);
    }

    #[test]
    fn the_warm_up_ends_where_the_marginal_standard_error_is_least() {
        let statistics = mser_statistics(&Y);
        assert_eq!(format!("{:.4}", statistics[0]), "67.2407");
        let rest: Vec<String> = statistics[3..7].iter().map(|s| format!("{s:.5}")).collect();
        assert_eq!(rest, ["2.49383", "0.18555", "0.08163", "0.11111"]);
        let warm_up = mser(&Y).unwrap();
        assert_eq!(
            warm_up,
            Mser {
                drop: 5,
                rejected: false
            }
        );
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        assert_eq!(format!("{:.3}", mean(&Y[5..])), "95.000");
        assert_eq!(format!("{:.3}", mean(&Y)), "77.667");
    }

    #[test]
    fn a_run_that_never_settles_is_rejected() {
        let rising: Vec<f64> = (0..100).map(|i| 1.2_f64.powi(i)).collect();
        assert!(!mser(&[5.0; 10]).unwrap().rejected);
        let late: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i >= 70))).collect();
        assert_eq!(
            mser(&late),
            Some(Mser {
                drop: 70,
                rejected: true
            })
        );
        assert_eq!(
            mser5(&late),
            Some(Mser {
                drop: 70,
                rejected: true
            })
        );
        assert!(mser(&rising).is_some());
        assert_eq!(mser(&Y[..9]), None);
        assert_eq!(mser(&[f64::NAN; 20]), None);
    }

    #[test]
    fn steadiness_is_told_by_residuals_more_than_by_correlation() {
        let at = [1.0, 2.0, 3.0, 4.0];
        let equal = uncentred_correlation(&at, &[100.0, 200.0, 300.0, 400.0]).unwrap();
        assert!((equal - 1.0).abs() < 1e-12);
        let uneven = uncentred_correlation(&at, &[100.0, 100.0, 200.0, 400.0]).unwrap();
        assert_eq!(format!("{uneven:.5}"), "0.97312");
        let at = [0.0, 1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            max_relative_residual(&at, &[0.0, 100.0, 200.0, 300.0, 400.0]),
            Some(0.0)
        );
        assert_eq!(
            max_relative_residual(&at, &[0.0, 100.0, 200.0, 400.0, 800.0]),
            Some(0.25)
        );
        assert_eq!(max_relative_residual(&[0.0, 0.0], &[0.0, 1.0]), None);
        assert_eq!(max_relative_residual(&[0.0, 1.0], &[0.0]), None);
        assert_eq!(uncentred_correlation(&[1.0], &[]), None);
        assert_eq!(uncentred_correlation(&[0.0], &[0.0]), None);
    }

    #[test]
    fn the_coefficient_of_variation_is_spread_over_mean() {
        assert_eq!(
            format!("{:.6}", coefficient_of_variation(&X).unwrap()),
            "0.006303"
        );
        assert_eq!(coefficient_of_variation(&[0.0, 0.0]), None);
        assert_eq!(coefficient_of_variation(&[1.0]), None);
    }

    #[test]
    fn a_trend_is_found_and_its_absence_too() {
        let rising = mann_kendall(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]).unwrap();
        // S = 45, variance 125.
        assert_eq!(rising.s, 45);
        assert_eq!(format!("{:.4}", rising.z), "3.9355");
        assert!(rising.p < 1e-4);
        let ties = mann_kendall(&[1.0, 2.0, 2.0, 3.0]).unwrap();
        // Five rising pairs; variance (4·3·13 - 2·1·9)/18 = 23/3.
        assert_eq!(ties.s, 5);
        assert_eq!(
            format!("{:.5}", ties.z),
            format!("{:.5}", 4.0 / (23.0_f64 / 3.0).sqrt())
        );
        assert_eq!(mann_kendall(&[1.0, 1.0, 1.0]), None);
        assert_eq!(mann_kendall(&[1.0, 2.0]), None);
        assert_eq!(mann_kendall(&[1.0, f64::NAN, 2.0]), None);
    }

    proptest! {
        #[test]
        fn pairs_counted_by_merging_are_the_pairs(values in proptest::collection::vec(0_i32..20, 3..60)) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let mut s = 0;
            for (i, a) in values.iter().enumerate() {
                for b in &values[i + 1..] {
                    s += i64::from(b > a) - i64::from(b < a);
                }
            }
            if let Some(trend) = mann_kendall(&values) {
                prop_assert_eq!(trend.s, s);
            }
        }

        #[test]
        fn no_series_makes_a_statistic_panic(values: Vec<f64>, batch: usize, confidence: f64) {
            let _ = (lag1(&values), batch_means(&values, confidence), batch_means_of(&values, batch, 0.9));
            let _ = (mser(&values), mser5(&values), mann_kendall(&values));
            let _ = (coefficient_of_variation(&values), uncentred_correlation(&values, &values));
            let _ = max_relative_residual(&values, &values);
        }
    }
}
