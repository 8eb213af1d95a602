//! Decisions on whether a value exceeds a limit: p-values, the runs that they take, and the difference of two intervals.

use crate::critical::{two_sided_t, two_sided_z};
use crate::estimate::Estimate;
use crate::mean::MIN_TRIALS_OF_INTERVAL;
use crate::special::{normal_two_sided, student_two_sided};

/// The one-sided p-value of an estimate above `limit`: the probability of one so far above it if the true value is the limit.
///
/// The standard error follows from the lower end of the interval, with `df` degrees of freedom of Student's t, or with the normal
/// distribution when it is `None`. An interval of zero width gives 0 above the limit and 1 elsewhere. `None` when the estimate has no
/// interval.
#[must_use]
pub fn exceeding_p(estimate: &Estimate, df: Option<f64>, limit: f64) -> Option<f64> {
    let critical = match df {
        Some(df) => two_sided_t(estimate.confidence, df)?,
        None => two_sided_z(estimate.confidence)?,
    };
    let standard_error = (estimate.mean - estimate.low) / critical;
    let above = estimate.mean - limit;
    if !(standard_error.is_finite() && above.is_finite()) {
        return None;
    }
    if standard_error <= 0.0 {
        return Some(if above > 0.0 { 0.0 } else { 1.0 });
    }
    let statistic = above / standard_error;
    let both_tails = match df {
        Some(df) => student_two_sided(statistic, df),
        None => normal_two_sided(statistic),
    };
    Some(if statistic > 0.0 {
        both_tails / 2.0
    } else {
        1.0 - both_tails / 2.0
    })
}

/// The number of runs a side with which the interval of a difference of two means is expected to exclude a limit.
///
/// The smallest n ≥ [`MIN_TRIALS_OF_INTERVAL`] with `t(2n-2) · √((s1² + s2²) / n) < distance`, for the standard deviations seen so far
/// and the distance of the difference from the limit. `None` for more than ten thousand runs, a distance of zero, and a confidence outside
/// 0 to 1.
#[must_use]
pub fn runs_to_exclude_limit(
    (sd1, sd2): (f64, f64),
    distance: f64,
    confidence: f64,
) -> Option<u64> {
    const MAX_RUNS: u64 = 10_000;
    let variance = sd1 * sd1 + sd2 * sd2;
    if !(variance.is_finite() && distance.is_finite() && distance != 0.0) {
        return None;
    }
    let excludes = |n: u64| {
        let n = n as f64;
        let half_width = |t: f64| t * (variance / n).sqrt();
        two_sided_t(confidence, 2.0 * n - 2.0).is_some_and(|t| half_width(t) < distance.abs())
    };
    // The half-width only shrinks as n grows.
    let (mut low, mut high) = (MIN_TRIALS_OF_INTERVAL as u64, MAX_RUNS);
    if !excludes(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if excludes(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

/// The interval of `second` minus `first` from the intervals of two independent estimates, which may be asymmetric.
///
/// `d − √((x2 − l2)² + (u1 − x1)²)` to `d + √((u2 − x2)² + (x1 − l1)²)`. Source: Zou and Donner, "Construction of Confidence Limits
/// about Effect Measures: A General Approach", 2008 (MOVER).
#[must_use]
pub fn difference_interval(first: &Estimate, second: &Estimate) -> (f64, f64) {
    let difference = second.mean - first.mean;
    let below = (second.mean - second.low).hypot(first.high - first.mean);
    let above = (second.high - second.mean).hypot(first.mean - first.low);
    (difference - below, difference + above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::IntervalMethod;
    use crate::two_sample::welch;
    use proptest::prelude::*;

    fn estimate(mean: f64, half_width: f64) -> Estimate {
        Estimate {
            mean,
            low: mean - half_width,
            high: mean + half_width,
            confidence: 0.95,
            n: 10,
            method: IntervalMethod::WelchT,
        }
    }

    #[test]
    fn an_interval_that_ends_at_the_limit_has_the_probability_of_one_tail() {
        let at_the_end = exceeding_p(&estimate(3.0, 2.0), Some(5.3), 1.0).unwrap();
        assert!((at_the_end - 0.025).abs() < 1e-9, "{at_the_end}");
        let normal = exceeding_p(&estimate(3.0, 2.0), None, 1.0).unwrap();
        assert!((normal - 0.025).abs() < 1e-9, "{normal}");
        assert_eq!(exceeding_p(&estimate(3.0, 2.0), None, 3.0), Some(0.5));
        assert!(exceeding_p(&estimate(3.0, 2.0), None, 4.0).unwrap() > 0.8);
        assert_eq!(exceeding_p(&estimate(3.0, 0.0), None, 2.0), Some(0.0));
        assert_eq!(exceeding_p(&estimate(3.0, 0.0), None, 3.0), Some(1.0));
        assert_eq!(exceeding_p(&Estimate::single(3.0), None, 1.0), None);
    }

    #[test]
    fn half_the_two_sided_p_of_welch_is_that_of_an_excess_over_zero() {
        let found = welch(&[3.0, 4.0, 5.5, 4.1], &[1.0, 2.0, 2.5, 1.5], 0.95).unwrap();
        let one_sided = exceeding_p(&found.difference, Some(found.df), 0.0).unwrap();
        assert!((one_sided - found.p / 2.0).abs() < 1e-9);
    }

    #[test]
    fn more_spread_and_less_distance_take_more_runs() {
        // z · √2 / 0.5 squared is 30.7; with t of 2n − 2 degrees of freedom one or two more.
        assert_eq!(runs_to_exclude_limit((1.0, 1.0), 0.5, 0.95), Some(32));
        assert_eq!(runs_to_exclude_limit((1.0, 1.0), -0.5, 0.95), Some(32));
        assert_eq!(runs_to_exclude_limit((0.0, 0.0), 0.5, 0.95), Some(5));
        assert_eq!(runs_to_exclude_limit((1.0, 1.0), 0.0, 0.95), None);
        assert_eq!(runs_to_exclude_limit((1.0, 1.0), 1e-3, 0.95), None);
        assert_eq!(runs_to_exclude_limit((f64::NAN, 1.0), 1.0, 0.95), None);
    }

    #[test]
    fn the_interval_of_a_difference_adds_the_widths_in_quadrature() {
        let (low, high) = difference_interval(&estimate(10.0, 3.0), &estimate(12.0, 4.0));
        assert_eq!((low, high), (-3.0, 7.0));
    }

    proptest! {
        #[test]
        fn no_values_make_a_decision_panic(mean: f64, half: f64, limit: f64, df: f64, sd: f64) {
            let _ = exceeding_p(&estimate(mean, half), Some(df), limit);
            let _ = runs_to_exclude_limit((sd, half), limit, 0.95);
        }
    }
}
