//! A mean with the interval it comes with, and when to stop repeating.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::special::student_two_sided;

/// How an interval was made, and so what it may be taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Student's t over the results of independent runs: where their mean lies.
    IndependentRunsT,
    /// Student's t over independent runs: where the next run will lie.
    PredictionT,
    /// Student's t over the means of batches of correlated values within one run.
    BatchMeansT,
    /// Welch's t for the difference of two means.
    WelchT,
    /// Student's t for the ratio of two means, to first order.
    RatioT,
    /// Wilson's score interval for a proportion.
    Wilson,
    /// A single value, of which no interval can be made: low and high are the value, at confidence zero.
    SingleValue,
}

/// A value, the interval it lies in, and what both rest on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The value itself, in the unit of what was measured.
    pub mean: f64,
    /// The lower end of the interval, in the same unit.
    pub low: f64,
    /// The upper end of the interval, in the same unit.
    pub high: f64,
    /// The probability with which intervals made this way hold the true value, from 0 to 1.
    pub confidence: f64,
    /// How many values went in.
    pub n: u64,
    /// How the interval was made.
    pub method: Method,
}

impl Estimate {
    /// A value seen once: an interval without width, at confidence zero.
    #[must_use]
    pub const fn single(value: f64) -> Self {
        Self {
            mean: value,
            low: value,
            high: value,
            confidence: 0.0,
            n: 1,
            method: Method::SingleValue,
        }
    }

    /// `mean ± half_width`; `None` unless all are finite.
    pub(super) fn around(
        mean: f64,
        half_width: f64,
        confidence: f64,
        n: usize,
        method: Method,
    ) -> Option<Self> {
        let (low, high) = (mean - half_width, mean + half_width);
        (low.is_finite() && high.is_finite()).then_some(Self {
            mean,
            low,
            high,
            confidence,
            n: n as u64,
            method,
        })
    }

    /// The interval as far as it lies within `least` and `most`, between which the true value must be: it holds the truth as
    /// often as the whole one does.
    #[must_use]
    pub const fn within(self, (least, most): (f64, f64)) -> Self {
        Self {
            low: self.low.max(least),
            high: self.high.min(most),
            ..self
        }
    }

    /// Half the width of the interval, in the unit of the mean.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Half the width as a fraction of the mean's magnitude; `None` for a mean of zero with an interval around it.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let half_width = self.half_width();
        if half_width == 0.0 {
            return Some(0.0);
        }
        let relative = half_width / self.mean.abs();
        relative.is_finite().then_some(relative)
    }
}

/// The value a standard normal stays below with probability `p`; `None` unless 0 < p < 1.
#[must_use]
pub fn normal_quantile(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| Normal::standard().inverse_cdf(p))
}

/// The value Student's t with `df` degrees of freedom stays below with probability `p`.
///
/// `None` unless 0 < p < 1 and `df` is positive and finite. Found by bisection on the incomplete beta function.
#[must_use]
pub fn student_t_quantile(p: f64, df: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0 && df > 0.0 && df.is_finite()) {
        return None;
    }
    if p == 0.5 {
        return Some(0.0);
    }
    let both_tails = 2.0 * p.min(1.0 - p);
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    while student_two_sided(high, df) > both_tails && high < 1e100 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if student_two_sided(middle, df) > both_tails {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = low + (high - low) / 2.0;
    Some(if p < 0.5 { -t } else { t })
}

/// The two-sided t for a `confidence` between 0 and 1.
pub(super) fn two_sided_t(confidence: f64, df: f64) -> Option<f64> {
    student_t_quantile(f64::midpoint(1.0, valid_confidence(confidence)?), df)
}

/// The two-sided z for a `confidence` between 0 and 1.
pub(super) fn two_sided_z(confidence: f64) -> Option<f64> {
    normal_quantile(f64::midpoint(1.0, valid_confidence(confidence)?))
}

fn valid_confidence(confidence: f64) -> Option<f64> {
    (confidence > 0.0 && confidence < 1.0).then_some(confidence)
}

/// Mean and variance of values that come one at a time, without the cancellation of summed squares.
///
/// Source: Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", 1962; merging: Chan,
/// Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Welford {
    n: u64,
    mean: f64,
    squares: f64,
}

impl Welford {
    /// Nothing seen yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            n: 0,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// Takes one value in.
    pub fn push(&mut self, value: f64) {
        self.n += 1;
        let off = value - self.mean;
        self.mean += off / self.n as f64;
        self.squares += off * (value - self.mean);
    }

    /// Takes in what another has seen.
    pub fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        let (mine, theirs) = (self.n as f64, other.n as f64);
        let total = mine + theirs;
        let apart = other.mean - self.mean;
        self.mean += apart * theirs / total;
        self.squares += other.squares + apart * apart * mine * theirs / total;
        self.n += other.n;
    }

    /// How many values were seen.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// Their mean; `None` before the first, or when a value was not finite.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0 && self.mean.is_finite()).then_some(self.mean)
    }

    /// Their sample variance, over n - 1; `None` before the second, or when a value was not finite.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        let variance = self.squares / (self.n.checked_sub(1)? as f64);
        variance.is_finite().then_some(variance)
    }

    /// Their sample standard deviation, over n - 1; `None` before the second, or when a value was not finite.
    #[must_use]
    pub fn sd(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }
}

impl<'v> FromIterator<&'v f64> for Welford {
    fn from_iter<I: IntoIterator<Item = &'v f64>>(values: I) -> Self {
        let mut welford = Self::new();
        for value in values {
            welford.push(*value);
        }
        welford
    }
}

/// The mean of independent results and the interval it lies in at `confidence`.
///
/// `mean ± t(n-1) · s / √n`. `None` for fewer than two results or a confidence outside 0 to 1. Values within one run
/// are correlated and need [`batch_means`](super::batch_means) instead.
#[must_use]
pub fn mean_interval(results: &[f64], confidence: f64) -> Option<Estimate> {
    let n = results.len() as f64;
    t_interval(
        results,
        confidence,
        n.sqrt().recip(),
        Method::IndependentRunsT,
    )
}

/// The mean of independent results and the interval the next one will lie in at `confidence`.
///
/// `mean ± t(n-1) · s · √(1 + 1/n)`. `None` for fewer than two results or a confidence outside 0 to 1.
#[must_use]
pub fn prediction_interval(results: &[f64], confidence: f64) -> Option<Estimate> {
    let n = results.len() as f64;
    t_interval(
        results,
        confidence,
        (1.0 + n.recip()).sqrt(),
        Method::PredictionT,
    )
}

fn t_interval(results: &[f64], confidence: f64, factor: f64, method: Method) -> Option<Estimate> {
    let seen: Welford = results.iter().collect();
    let sd = seen.sd()?;
    let t = two_sided_t(confidence, results.len() as f64 - 1.0)?;
    Estimate::around(
        seen.mean()?,
        t * sd * factor,
        confidence,
        results.len(),
        method,
    )
}

/// How many independent runs bring the half-width of the mean's interval to `relative` of the mean.
///
/// The smallest n ≥ 2 with `t(n-1) · sd / √n ≤ relative · |mean|`, searched upwards from the normal approximation
/// because the usual fixed-point iteration can oscillate. `None` for a zero mean with spread, arguments out of range,
/// or more than a million runs.
#[must_use]
pub fn runs_needed(sd: f64, mean: f64, relative: f64, confidence: f64) -> Option<u64> {
    const MOST: u64 = 1_000_000;
    let goal = relative * mean.abs();
    if !(sd >= 0.0 && sd.is_finite() && goal.is_finite() && relative > 0.0) {
        return None;
    }
    let z = two_sided_z(confidence)?;
    if sd == 0.0 {
        return Some(2);
    }
    // t is above z, so fewer than this can never do.
    let at_least = (z * sd / goal).powi(2);
    if at_least.is_nan() || at_least > MOST as f64 {
        return None;
    }
    (at_least.ceil().max(2.0) as u64..=MOST).find(|&n| {
        two_sided_t(confidence, n as f64 - 1.0).is_some_and(|t| t * sd / (n as f64).sqrt() <= goal)
    })
}

/// When repeated runs are enough: the mean known to `relative_error`, or `max` runs made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// The half-width to reach, as a fraction of the mean.
    pub relative_error: f64,
    /// The confidence of the interval, between 0 and 1.
    pub confidence: f64,
    /// Runs to make at least; below ten the confidence is optimistic: 92 % instead of 95 % with three.
    pub min: u64,
    /// Runs to make at most.
    pub max: u64,
}

/// What the results so far say about going on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Make another run.
    Continue,
    /// The mean is known well enough.
    Reached {
        /// The half-width reached, as a fraction of the mean.
        half_width_relative: f64,
    },
    /// The most runs allowed were made and the mean is not known well enough.
    GaveUp {
        /// The half-width reached, as a fraction of the mean; `None` where there is no interval or the mean is zero.
        half_width_relative: Option<f64>,
    },
}

impl StopRule {
    /// Judges the `results` so far, to be asked after every run.
    ///
    /// Reached at the first n ≥ `min` where the goal is met with and without the last result: one lucky result is no
    /// evidence, and stopping on it would make the confidence optimistic.
    #[must_use]
    pub fn judge(&self, results: &[f64]) -> Verdict {
        let width = |results: &[f64]| {
            mean_interval(results, self.confidence).and_then(|mean| mean.relative_half_width())
        };
        let n = results.len() as u64;
        if n < self.min.min(self.max) {
            return Verdict::Continue;
        }
        let now = width(results);
        if n >= self.min
            && let Some(half_width_relative) = now
            && half_width_relative <= self.relative_error
            && let Some((_, before)) = results.split_last()
            && width(before).is_some_and(|before| before <= self.relative_error)
        {
            return Verdict::Reached {
                half_width_relative,
            };
        }
        if n >= self.max {
            return Verdict::GaveUp {
                half_width_relative: now,
            };
        }
        Verdict::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_interval_is_cut_at_what_can_be_and_keeps_its_mean() {
        let wide = mean_interval(&[0.2, 0.9], 0.95).unwrap();
        assert!(wide.low < 0.0 && wide.high > 1.0, "{wide:?}");
        let cut = wide.within((0.0, 1.0));
        assert_eq!((cut.low, cut.mean, cut.high), (0.0, wide.mean, 1.0));
        assert_eq!(cut.within((f64::NEG_INFINITY, f64::INFINITY)), cut);
    }

    const A: [f64; 5] = [941.2, 938.7, 940.1, 942.3, 939.9];
    const C: [f64; 3] = [92.1, 94.8, 89.5];

    #[test]
    fn quantiles_of_student_and_normal_agree_with_the_tables() {
        let three = |p, df| format!("{:.3}", student_t_quantile(p, df).unwrap());
        let columns = [1.0, 2.0, 4.0, 9.0, 29.0];
        assert_eq!(
            columns.map(|df| three(0.975, df)),
            ["12.706", "4.303", "2.776", "2.262", "2.045"]
        );
        assert_eq!(
            columns.map(|df| three(0.995, df)),
            ["63.657", "9.925", "4.604", "3.250", "2.756"]
        );
        assert_eq!(three(0.025, 4.0), "-2.776");
        assert_eq!(student_t_quantile(0.5, 4.0), Some(0.0));
        assert_eq!(
            format!("{:.6}", normal_quantile(0.975).unwrap()),
            "1.959964"
        );
        let wide = student_t_quantile(0.975, 1e9).unwrap();
        assert!((wide - 1.959_964).abs() < 1e-5);
        for (p, df) in [
            (0.0, 4.0),
            (1.0, 4.0),
            (f64::NAN, 4.0),
            (0.9, 0.0),
            (0.9, f64::NAN),
        ] {
            assert_eq!(student_t_quantile(p, df), None);
        }
    }

    #[test]
    fn the_mean_of_five_runs_comes_with_its_interval() {
        let seen: Welford = A.iter().collect();
        assert_eq!(format!("{:.6}", seen.sd().unwrap()), "1.366748");
        let mean = mean_interval(&A, 0.95).unwrap();
        assert_eq!(format!("{:.2}", mean.mean), "940.44");
        assert_eq!(format!("{:.6}", mean.half_width()), "1.697042");
        assert_eq!(
            format!("{:.3} {:.3}", mean.low, mean.high),
            "938.743 942.137"
        );
        let relative = mean.relative_half_width().unwrap();
        assert_eq!(format!("{:.5}", relative * 100.0), "0.18045");
        assert_eq!((mean.n, mean.method), (5, Method::IndependentRunsT));
    }

    #[test]
    fn the_full_width_in_percent_is_what_netperf_calls_confidence() {
        let width = |results: &[f64], confidence| {
            let mean = mean_interval(results, confidence).unwrap();
            200.0 * mean.relative_half_width().unwrap()
        };
        assert_eq!(format!("{:.4}", width(&A, 0.95)), "0.3609");
        assert_eq!(format!("{:.4}", width(&A, 0.99)), "0.5985");
        assert_eq!(format!("{:.3}", width(&C, 0.95)), "14.291");
        assert_eq!(format!("{:.3}", width(&C, 0.99)), "32.965");
        // With t from a printed table, as netperf has it.
        let c: Welford = C.iter().collect();
        let from_table = |t: f64| 200.0 * t * c.sd().unwrap() / 3_f64.sqrt() / c.mean().unwrap();
        assert_eq!(format!("{:.3}", from_table(4.303)), "14.292");
        assert_eq!(format!("{:.3}", from_table(9.925)), "32.965");
        let seen: Welford = C.iter().collect();
        assert_eq!(format!("{:.4}", seen.mean().unwrap()), "92.1333");
        assert_eq!(
            format!("{:.6}", seen.sd().unwrap() / 3_f64.sqrt()),
            "1.530069"
        );
    }

    #[test]
    fn the_next_run_is_less_certain_than_the_mean_of_all() {
        let next = prediction_interval(&A, 0.95).unwrap();
        let mean = mean_interval(&A, 0.95).unwrap();
        assert!((next.half_width() - mean.half_width() * 6_f64.sqrt()).abs() < 1e-9);
        assert_eq!(next.method, Method::PredictionT);
    }

    #[test]
    fn one_value_is_no_mean_and_gets_no_interval() {
        assert_eq!(mean_interval(&[], 0.95), None);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(mean_interval(&[1.0, f64::INFINITY], 0.95), None);
        assert_eq!(mean_interval(&[f64::MAX, f64::MIN], 0.95), None);
        assert_eq!(mean_interval(&A, 1.0), None);
        assert_eq!(Estimate::single(7.0).half_width(), 0.0);
    }

    #[test]
    fn the_runs_needed_are_searched_upwards() {
        let z = normal_quantile(0.975).unwrap();
        assert_eq!(format!("{:.2}", (z * 3.1 / 0.942).powi(2)), "41.60");
        assert_eq!(runs_needed(3.1, 94.2, 0.01, 0.95), Some(45));
        assert_eq!(runs_needed(0.0, 94.2, 0.01, 0.95), Some(2));
        assert_eq!(runs_needed(3.1, 0.0, 0.01, 0.95), None);
        assert_eq!(runs_needed(3.1, 94.2, 1e-9, 0.95), None);
        assert_eq!(runs_needed(f64::NAN, 94.2, 0.01, 0.95), None);
        assert_eq!(runs_needed(3.1, 94.2, 0.01, 2.0), None);
    }

    #[test]
    fn repeating_stops_when_two_successive_counts_meet_the_goal() {
        let rule = StopRule {
            relative_error: 0.05,
            confidence: 0.95,
            min: 5,
            max: 10,
        };
        let steady = [100.0, 101.0, 99.0, 100.0, 100.5];
        assert_eq!(rule.judge(&steady[..4]), Verdict::Continue);
        assert!(
            matches!(rule.judge(&steady), Verdict::Reached { half_width_relative } if half_width_relative < 0.05)
        );
        // Met at five, but not at four.
        let settling = [100.0, 100.0, 104.0, 96.5, 100.0];
        let strict = StopRule {
            relative_error: 0.04,
            ..rule
        };
        assert!(
            mean_interval(&settling[..4], 0.95)
                .unwrap()
                .relative_half_width()
                .unwrap()
                > 0.04
        );
        assert!(
            mean_interval(&settling, 0.95)
                .unwrap()
                .relative_half_width()
                .unwrap()
                < 0.04
        );
        assert_eq!(strict.judge(&settling), Verdict::Continue);
    }

    #[test]
    fn repeating_ends_at_the_most_runs_and_tells_the_width_reached() {
        let rule = StopRule {
            relative_error: 0.01,
            confidence: 0.95,
            min: 3,
            max: 3,
        };
        assert!(
            matches!(rule.judge(&C), Verdict::GaveUp { half_width_relative: Some(width) } if width > 0.07)
        );
        let nothing = StopRule { max: 0, ..rule };
        assert_eq!(
            nothing.judge(&[]),
            Verdict::GaveUp {
                half_width_relative: None
            }
        );
        // Results that are all zero are known exactly.
        assert_eq!(
            rule.judge(&[0.0; 3]),
            Verdict::Reached {
                half_width_relative: 0.0
            }
        );
    }

    #[test]
    fn methods_are_named_in_snake_case_in_json() {
        let names = [
            Method::IndependentRunsT,
            Method::BatchMeansT,
            Method::Wilson,
            Method::SingleValue,
        ];
        assert_eq!(
            serde_json::to_string(&names).unwrap(),
            r#"["independent_runs_t","batch_means_t","wilson","single_value"]"#
        );
    }

    proptest! {
        #[test]
        fn merging_equals_seeing_it_all(left in proptest::collection::vec(-1e6..1e6_f64, 0..50), right in proptest::collection::vec(-1e6..1e6_f64, 2..50)) {
            let mut merged: Welford = left.iter().collect();
            merged.merge(&right.iter().collect());
            let all: Welford = left.iter().chain(&right).collect();
            prop_assert_eq!(merged.n(), all.n());
            prop_assert!((merged.mean().unwrap() - all.mean().unwrap()).abs() < 1e-6);
            prop_assert!((merged.variance().unwrap() / all.variance().unwrap() - 1.0).abs() < 1e-6);
        }

        #[test]
        fn no_values_make_a_statistic_panic(values: Vec<f64>, confidence: f64, relative: f64) {
            let _ = mean_interval(&values, confidence);
            let _ = prediction_interval(&values, 0.95);
            let rule = StopRule { relative_error: relative, confidence, min: 2, max: 5 };
            let _ = rule.judge(&values);
            let _ = runs_needed(values.first().copied().unwrap_or(1.0), relative, 0.5, 0.95);
        }
    }
}
