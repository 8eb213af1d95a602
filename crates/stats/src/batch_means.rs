//! Correlation within a run, and the mean of a correlated series by batch means.

use serde::{Deserialize, Serialize};

use crate::critical::two_sided_t;
use crate::estimate::{Estimate, IntervalMethod};
use crate::welford::Welford;

/// The lag-1 autocorrelation of a series.
///
/// `Σ(xᵢ-x̄)(xᵢ₊₁-x̄) / Σ(xᵢ-x̄)²`. `None` for fewer than two values or without any spread.
#[must_use]
pub fn lag1(values: &[f64]) -> Option<f64> {
    let statistics: Welford = values.iter().collect();
    let mean = statistics.mean()?;
    let spread: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    let correlation = products / spread;
    (values.len() > 1 && correlation.is_finite()).then_some(correlation)
}

/// The effective sample size of `n` values with lag-1 autocorrelation `rho`.
///
/// `n (1-ρ)/(1+ρ)`, for a first-order autoregressive series. `None` unless -1 < ρ < 1.
#[must_use]
pub fn effective_sample_size(n: u64, rho: f64) -> Option<f64> {
    (rho > -1.0 && rho < 1.0).then(|| n as f64 * (1.0 - rho) / (1.0 + rho))
}

/// The factor by which lag-1 autocorrelation `rho` widens the interval of a mean.
///
/// `√((1+ρ)/(1-ρ))`, for a first-order autoregressive series. `None` unless -1 < ρ < 1.
#[must_use]
pub fn interval_inflation(rho: f64) -> Option<f64> {
    (rho > -1.0 && rho < 1.0).then(|| ((1.0 + rho) / (1.0 - rho)).sqrt())
}

/// The mean of a correlated series with an interval from batches of about `batch` values each.
///
/// Batch means are assumed independent, with one degree of freedom less than there are batches. Values remaining over by
/// the division make some batches longer, so the mean is that of all values, and `n` counts them all.
/// `None` for fewer than two batches. Source: Law, "Simulation Modeling and Analysis", section 9.5.
#[must_use]
pub fn fixed_batch_means(values: &[f64], batch: usize, confidence: f64) -> Option<Estimate> {
    let batches = values.len().checked_div(batch)?;
    Batches::new(values)?.estimate(batches, confidence, 1.0)
}

/// The mean of a correlated series with the batches behind its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BatchMeans {
    /// The mean and its interval.
    pub estimate: Estimate,
    /// The number of batches.
    pub batches: u64,
    /// The number of values in a batch; some batches have more.
    pub batch_size: u64,
    /// The lag-1 autocorrelation that remains between the batch means; zero when they do not differ.
    pub lag1: f64,
    /// `true` where the series is long enough for the interval to contain the mean as often as its confidence says, or nearly so.
    pub trusted: bool,
}

/// The mean of a correlated series, with batches large enough that their means are nearly independent.
///
/// Batches grow until the lag-1 autocorrelation of their means is below 0.2, while there are at least ten; the autocorrelation that
/// remains widens the interval as in a first-order autoregressive series, by `√((1+ρ)/(1-ρ))`. ρ is the estimate from the batch means
/// plus one over the number of batches, which corrects its bias (Marriott and Pope, "Bias in the Estimation of Autocorrelations",
/// 1954), and at least zero. That is the interval where, in addition, the effective sample size of the whole series is at least 40
/// ([`effective_sample_size`]): a shorter series hides how strongly it is correlated. There the widest interval found is returned, over
/// at least ten batches, or three in a series of fewer than 40 values, with ρ raised by two more over the number of batches, about its
/// standard error. From 60 values on that is trusted as well: the interval covers the mean of first-order autoregressive series in at
/// least 90 of 100, for coefficients up to 0.9 at 60 values, 0.95 at 120 and 0.98 at 250. `None` for fewer than two values.
///
/// Source: Law; Alexopoulos and Seila, "Output Data Analysis", 1998; the correction as in Tafazzoli and Wilson, "Skart: A skewness-
/// and autoregression-adjusted batch-means procedure for simulation analysis", 2011; the coverage by simulation.
#[must_use]
pub fn batch_means(values: &[f64], confidence: f64) -> Option<BatchMeans> {
    batch_means_from(values, 1, confidence)
}

/// The same, of a series in which values closer together than `min_batch` are known to make up for one another. There are at least ten
/// batches, or three in a series of fewer than 40 values, however large `min_batch` is; a series of less than ten is not trusted.
#[must_use]
pub fn batch_means_from(values: &[f64], min_batch: usize, confidence: f64) -> Option<BatchMeans> {
    const MAX_CORRELATION: f64 = 0.2;
    const MIN_BATCHES: usize = 10;
    const MIN_EFFECTIVE_SIZE: f64 = 40.0;
    const MIN_VALUES: usize = 60;
    let n = values.len();
    let all = Batches::new(values)?;
    let min_batches = (n / 4).clamp(3, MIN_BATCHES).min(n);
    let effective_size = match lag1(values) {
        Some(estimate) => effective_sample_size(n as u64, corrected_lag1(Some(estimate), n))?,
        // Without variance one value is worth as much as all of them.
        None => MIN_EFFECTIVE_SIZE,
    };
    let is_long_enough = n >= MIN_VALUES.max(min_batch.saturating_mul(MIN_BATCHES));
    let mut widest: Option<BatchMeans> = None;
    let mut batch_size = min_batch.min(n / min_batches).max(1);
    while n / batch_size >= min_batches {
        let batches = n / batch_size;
        let lag1 = lag1(&all.means(batches));
        let remaining = corrected_lag1(lag1, batches);
        let independent = remaining < MAX_CORRELATION && batches >= MIN_BATCHES;
        let is_shown = independent && effective_size >= MIN_EFFECTIVE_SIZE;
        let largest = match lag1 {
            Some(_) if !is_shown => (remaining + 2.0 / batches as f64).min(MAX_LAG1),
            _ => remaining,
        };
        let found = BatchMeans {
            estimate: all.estimate(batches, confidence, interval_inflation(largest)?)?,
            batches: batches as u64,
            batch_size: batch_size as u64,
            lag1: lag1.unwrap_or(0.0),
            trusted: is_shown || is_long_enough,
        };
        if is_shown {
            return Some(found);
        }
        if widest.is_none_or(|current| found.estimate.half_width() > current.estimate.half_width())
        {
            widest = Some(found);
        }
        // The series is too short for any batch size: larger batches only lose degrees of freedom.
        if independent {
            break;
        }
        batch_size += (batch_size / 4).max(1);
    }
    widest
}

/// The largest lag-1 autocorrelation that widens an interval.
const MAX_LAG1: f64 = 0.99;

/// The bias-corrected lag-1 autocorrelation of `n` values whose `estimate` it is, from 0 to 0.99.
fn corrected_lag1(estimate: Option<f64>, n: usize) -> f64 {
    // Without variance there is no autocorrelation.
    estimate.map_or(0.0, |estimate| {
        (estimate + (n as f64).recip()).clamp(0.0, MAX_LAG1)
    })
}

/// Prefix sums of a series, from which the means of batches of any size follow; taken around the mean for precision.
struct Batches {
    mean: f64,
    sums: Vec<f64>,
}

impl Batches {
    fn new(values: &[f64]) -> Option<Self> {
        let statistics: Welford = values.iter().collect();
        let mean = statistics.mean()?;
        let mut sum = 0.0;
        let mut sums = Vec::with_capacity(values.len() + 1);
        sums.push(sum);
        for value in values {
            sum += value - mean;
            sums.push(sum);
        }
        sum.is_finite().then_some(Self { mean, sums })
    }

    /// The means of `batches` batches of nearly equal size, relative to the mean of all values.
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

    /// The mean with its interval, which is `inflation` times that of independent batches.
    fn estimate(&self, batches: usize, confidence: f64, inflation: f64) -> Option<Estimate> {
        let statistics: Welford = self.means(batches).iter().collect();
        let t = two_sided_t(confidence, batches as f64 - 1.0)?;
        let half_width = t * inflation * statistics.sd()? / (batches as f64).sqrt();
        let n = self.sums.len() - 1;
        Estimate::around(
            self.mean,
            half_width,
            confidence,
            n,
            IntervalMethod::BatchMeansT,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const X: [f64; 12] = [
        94.1, 94.3, 94.0, 93.2, 92.8, 93.0, 94.4, 94.6, 94.5, 93.9, 93.7, 93.8,
    ];

    /// A first-order autoregressive series around 100 with coefficient `rho`; the same on every call.
    fn autoregressive(rho: f64, n: usize) -> Vec<f64> {
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
    fn correlated_values_have_a_smaller_effective_sample_size() {
        for (rho, effective_size, wider) in [
            (0.3, "16.2", "1.363"),
            (0.6, "7.5", "2.000"),
            (0.9, "1.58", "4.359"),
        ] {
            let n = effective_sample_size(30, rho).unwrap();
            let decimals = effective_size.len() - effective_size.find('.').unwrap() - 1;
            assert_eq!(format!("{n:.decimals$}"), effective_size);
            assert_eq!(format!("{:.3}", interval_inflation(rho).unwrap()), wider);
        }
        assert_eq!(effective_sample_size(30, 1.0), None);
        assert_eq!(interval_inflation(-1.0), None);
        assert_eq!(interval_inflation(f64::NAN), None);
    }

    #[test]
    fn correlated_seconds_need_a_wider_interval_than_they_seem_to() {
        let statistics: Welford = X.iter().collect();
        assert_eq!(format!("{:.4}", statistics.mean().unwrap()), "93.8583");
        assert_eq!(format!("{:.6}", statistics.sd().unwrap()), "0.591544");
        assert_eq!(format!("{:.4}", lag1(&X).unwrap()), "0.5516");
        let naive = crate::mean_interval(&X, 0.95).unwrap();
        assert_eq!(format!("{:.5}", naive.half_width()), "0.37585");

        let means = Batches::new(&X).unwrap().means(4);
        let means: Vec<String> = means
            .iter()
            .map(|m| format!("{:.4}", m + statistics.mean().unwrap()))
            .collect();
        assert_eq!(means, ["94.1333", "93.0000", "94.5000", "93.8000"]);
        let batched = fixed_batch_means(&X, 3, 0.95).unwrap();
        assert_eq!(format!("{:.5}", batched.half_width()), "1.01784");
        let sd_of_batches = batched.half_width() * 2.0 / two_sided_t(0.95, 3.0).unwrap();
        assert_eq!(format!("{sd_of_batches:.6}"), "0.639661");
        assert_eq!(format!("{:.4}", batched.mean), "93.8583");
        assert_eq!(
            (batched.n, batched.method),
            (12, IntervalMethod::BatchMeansT)
        );
    }

    #[test]
    fn a_short_correlated_series_gets_the_widest_interval_and_is_not_trusted() {
        let batched = batch_means(&X, 0.95).unwrap();
        assert!(!batched.trusted);
        assert_eq!((batched.batches, batched.batch_size), (4, 3));
        assert_eq!(format!("{:.5}", batched.estimate.half_width()), "1.76296");
    }

    #[test]
    fn batches_grow_until_their_means_are_independent() {
        let independent = batch_means(&autoregressive(0.0, 1000), 0.95).unwrap();
        assert_eq!((independent.batch_size, independent.trusted), (1, true));
        let correlated = batch_means(&autoregressive(0.9, 10_000), 0.95).unwrap();
        assert!(correlated.trusted && correlated.batch_size > 10);
        assert!(correlated.lag1.abs() < 0.2 && correlated.batches >= 10);
    }

    #[test]
    fn a_constant_series_has_an_interval_of_zero_width() {
        let flat = batch_means(&[7.0; 20], 0.95).unwrap();
        assert_eq!((flat.estimate.half_width(), flat.trusted), (0.0, true));
    }

    #[test]
    fn one_value_makes_no_batches() {
        assert_eq!(batch_means(&[], 0.95), None);
        assert_eq!(batch_means(&[1.0], 0.95), None);
        assert_eq!(fixed_batch_means(&X, 0, 0.95), None);
        assert_eq!(fixed_batch_means(&X, 7, 0.95), None);
        assert_eq!(lag1(&[1.0]), None);
        assert_eq!(lag1(&[1.0, 1.0]), None);
    }

    proptest! {
        #[test]
        fn no_series_makes_a_statistic_panic(values: Vec<f64>, batch: usize, confidence: f64) {
            let _ = (lag1(&values), batch_means(&values, confidence), fixed_batch_means(&values, batch, 0.9));
        }
    }
}
