//! The mean of independent runs with its interval, and the number of runs a precision takes.

use crate::critical::{two_sided_t, two_sided_z};
use crate::estimate::{Estimate, IntervalMethod};
use crate::welford::Welford;

/// The mean of independent results with its interval at `confidence`.
///
/// `mean ± t(n-1) · s / √n`. `None` for fewer than two results or a confidence outside 0 to 1. Values within one run
/// are correlated and need [`batch_means`](crate::batch_means()) instead.
#[must_use]
pub fn mean_interval(results: &[f64], confidence: f64) -> Option<Estimate> {
    let n = results.len() as f64;
    t_interval(
        results,
        confidence,
        n.sqrt().recip(),
        IntervalMethod::IndependentRunsT,
    )
}

/// Minimum trials for an interval; of fewer, the minimum and maximum are given: with one to three degrees of freedom
/// Student's t is 12.7 to 3.2, and the interval says more about t than about the results.
pub const MIN_TRIALS_OF_INTERVAL: usize = 5;

/// The mean of independent trials: with its interval at `confidence` of five or more, with the minimum and the maximum of fewer, and
/// alone of one. `None` without trials, or when one is not finite.
#[must_use]
pub fn mean_of_trials(results: &[f64], confidence: f64) -> Option<Estimate> {
    let statistics: Welford = results.iter().collect();
    let mean = statistics.mean().filter(|mean| mean.is_finite())?;
    match results.len() {
        0 => None,
        1 => Some(Estimate::single(mean)),
        n if n < MIN_TRIALS_OF_INTERVAL => Some(Estimate {
            mean,
            low: results.iter().copied().fold(f64::INFINITY, f64::min),
            high: results.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            confidence: 0.0,
            n: n as u64,
            method: IntervalMethod::Range,
        }),
        _ => mean_interval(results, confidence),
    }
}

/// The mean of independent results with the interval in which the next result will lie, at `confidence`.
///
/// `mean ± t(n-1) · s · √(1 + 1/n)`. `None` for fewer than two results or a confidence outside 0 to 1.
#[must_use]
pub fn prediction_interval(results: &[f64], confidence: f64) -> Option<Estimate> {
    let n = results.len() as f64;
    t_interval(
        results,
        confidence,
        (1.0 + n.recip()).sqrt(),
        IntervalMethod::PredictionT,
    )
}

fn t_interval(
    results: &[f64],
    confidence: f64,
    factor: f64,
    method: IntervalMethod,
) -> Option<Estimate> {
    let statistics: Welford = results.iter().collect();
    let sd = statistics.sd()?;
    let t = two_sided_t(confidence, results.len() as f64 - 1.0)?;
    Estimate::around(
        statistics.mean()?,
        t * sd * factor,
        confidence,
        results.len(),
        method,
    )
}

/// The number of independent runs that bring the half-width of the mean's interval to `relative` of the mean.
///
/// The smallest n ≥ 2 with `t(n-1) · sd / √n ≤ relative · |mean|`, searched upwards from the normal approximation
/// because the usual fixed-point iteration can oscillate. `None` for a zero mean with spread, arguments out of range,
/// or more than a million runs.
#[must_use]
pub fn runs_needed(sd: f64, mean: f64, relative: f64, confidence: f64) -> Option<u64> {
    const MAX_RUNS: u64 = 1_000_000;
    let goal = relative * mean.abs();
    if !(sd >= 0.0 && sd.is_finite() && goal.is_finite() && relative > 0.0) {
        return None;
    }
    let z = two_sided_z(confidence)?;
    if sd == 0.0 {
        return Some(2);
    }
    // The critical value of t exceeds z, so fewer runs than this are never enough.
    let lower_bound = (z * sd / goal).powi(2);
    if lower_bound.is_nan() || lower_bound > MAX_RUNS as f64 {
        return None;
    }
    (lower_bound.ceil().max(2.0) as u64..=MAX_RUNS).find(|&n| {
        two_sided_t(confidence, n as f64 - 1.0).is_some_and(|t| t * sd / (n as f64).sqrt() <= goal)
    })
}

/// The maximum coefficient of variation with which `runs` independent runs bring the half-width of the mean's interval to `relative` of
/// the mean.
///
/// `relative · √n / t(n-1)`. `None` for fewer than two runs, and for a confidence outside 0 to 1.
#[must_use]
pub fn max_variation(runs: u64, relative: f64, confidence: f64) -> Option<f64> {
    let n = runs as f64;
    let t = two_sided_t(confidence, n - 1.0)?;
    Some(relative * n.sqrt() / t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::critical::normal_quantile;
    use proptest::prelude::*;

    #[test]
    fn fewer_than_five_trials_have_their_minimum_and_maximum() {
        let few = mean_of_trials(&[2.0, 4.0, 3.0], 0.95).unwrap();
        assert_eq!((few.mean, few.low, few.high), (3.0, 2.0, 4.0));
        assert_eq!((few.confidence, few.n), (0.0, 3));
        assert_eq!(few.method, IntervalMethod::Range);
        let five = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(mean_of_trials(&five, 0.95), mean_interval(&five, 0.95));
        let one = mean_of_trials(&[7.0], 0.95).unwrap();
        assert_eq!(one, Estimate::single(7.0));
        assert_eq!(mean_of_trials(&[], 0.95), None);
        assert_eq!(mean_of_trials(&[1.0, f64::NAN], 0.95), None);
    }

    #[test]
    fn an_interval_clamped_to_its_range_keeps_its_mean() {
        let wide = mean_interval(&[0.2, 0.9], 0.95).unwrap();
        assert!(wide.low < 0.0 && wide.high > 1.0, "{wide:?}");
        let cut = wide.clamped_to((0.0, 1.0));
        assert_eq!((cut.low, cut.mean, cut.high), (0.0, wide.mean, 1.0));
        assert_eq!(cut.clamped_to((f64::NEG_INFINITY, f64::INFINITY)), cut);
    }

    const A: [f64; 5] = [941.2, 938.7, 940.1, 942.3, 939.9];

    const C: [f64; 3] = [92.1, 94.8, 89.5];

    #[test]
    fn the_mean_of_five_runs_comes_with_its_interval() {
        let statistics: Welford = A.iter().collect();
        assert_eq!(format!("{:.6}", statistics.sd().unwrap()), "1.366748");
        let mean = mean_interval(&A, 0.95).unwrap();
        assert_eq!(format!("{:.2}", mean.mean), "940.44");
        assert_eq!(format!("{:.6}", mean.half_width()), "1.697042");
        assert_eq!(
            format!("{:.3} {:.3}", mean.low, mean.high),
            "938.743 942.137"
        );
        let relative = mean.relative_half_width().unwrap();
        assert_eq!(format!("{:.5}", relative * 100.0), "0.18045");
        assert_eq!((mean.n, mean.method), (5, IntervalMethod::IndependentRunsT));
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
        let statistics: Welford = C.iter().collect();
        assert_eq!(format!("{:.4}", statistics.mean().unwrap()), "92.1333");
        assert_eq!(
            format!("{:.6}", statistics.sd().unwrap() / 3_f64.sqrt()),
            "1.530069"
        );
    }

    #[test]
    fn the_next_run_is_less_certain_than_the_mean_of_all() {
        let next = prediction_interval(&A, 0.95).unwrap();
        let mean = mean_interval(&A, 0.95).unwrap();
        assert!((next.half_width() - mean.half_width() * 6_f64.sqrt()).abs() < 1e-9);
        assert_eq!(next.method, IntervalMethod::PredictionT);
    }

    #[test]
    fn one_value_has_no_interval() {
        assert_eq!(mean_interval(&[], 0.95), None);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[1.0, f64::NAN], 0.95), None);
        assert_eq!(mean_interval(&[1.0, f64::INFINITY], 0.95), None);
        assert_eq!(mean_interval(&[f64::MAX, f64::MIN], 0.95), None);
        assert_eq!(mean_interval(&A, 1.0), None);
        assert_eq!(Estimate::single(7.0).half_width(), 0.0);
    }

    #[test]
    fn the_number_of_runs_needed_is_the_smallest_that_reaches_the_goal() {
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
    fn the_runs_of_a_relative_error_grow_with_the_square_of_the_variation() {
        let variations = [0.05, 0.10, 0.15, 0.20, 0.268, 0.30, 0.50];
        let runs = |relative| variations.map(|sd| runs_needed(sd, 1.0, relative, 0.95).unwrap());
        assert_eq!(runs(0.10), [4, 7, 12, 18, 31, 38, 99]);
        assert_eq!(runs(0.05), [7, 18, 38, 64, 113, 141, 387]);
        assert_eq!(runs_needed(0.02, 1.0, 0.01, 0.95), Some(18));
        assert_eq!(runs_needed(0.05, 1.0, 0.01, 0.95), Some(99));
    }

    #[test]
    fn a_number_of_runs_reaches_a_relative_error_up_to_some_variation() {
        let percent = |runs| format!("{:.1}", 100.0 * max_variation(runs, 0.10, 0.95).unwrap());
        assert_eq!([30, 10, 5].map(percent), ["26.8", "14.0", "8.1"]);
        assert_eq!(max_variation(1, 0.10, 0.95), None);
        assert_eq!(max_variation(30, 0.10, 1.0), None);
    }

    proptest! {
        #[test]
        fn no_values_make_a_statistic_panic(values: Vec<f64>, confidence: f64, relative: f64) {
            let _ = mean_interval(&values, confidence);
            let _ = prediction_interval(&values, 0.95);
            let _ = runs_needed(values.first().copied().unwrap_or(1.0), relative, 0.5, 0.95);
        }
    }
}
