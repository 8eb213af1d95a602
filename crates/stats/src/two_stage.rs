//! Two stages of runs: a pilot decides how many there are to be, and the precision is not looked at again.
//!
//! Repeating until the interval is narrow enough looks at the same results that the interval is made of, and such intervals hold the truth
//! less often than they say. With two stages only the pilot's standard deviation decides, and it is the one that the interval is made
//! with. Source: Stein, "A Two-Sample Test for a Linear Hypothesis Whose Power is Independent of the Variance", 1945.

use crate::critical::two_sided_t;
use crate::estimate::{Estimate, IntervalMethod};
use crate::welford::Welford;

/// The number of runs in both stages that bring the half-width of the mean's interval to `relative` of the pilot's mean.
///
/// `max(n₁, ⌈(t(n₁-1) · s₁ / (relative · |x̄₁|))²⌉)` with the pilot's count n₁, mean and standard deviation. `None` for fewer than two
/// results, a mean of zero with spread, and arguments out of range.
#[must_use]
pub fn two_stage_runs(pilot: &[f64], relative: f64, confidence: f64) -> Option<u64> {
    let statistics: Welford = pilot.iter().collect();
    let (mean, sd) = (statistics.mean()?, statistics.sd()?);
    let t = two_sided_t(confidence, pilot.len() as f64 - 1.0)?;
    if sd == 0.0 {
        return Some(statistics.n());
    }
    let runs = (t * sd / (relative * mean.abs())).powi(2).ceil();
    let is_number = relative > 0.0 && runs.is_finite() && runs < u64::MAX as f64;
    is_number.then(|| (runs as u64).max(statistics.n()))
}

/// The mean of all results of two stages, the first `pilot` of which decided on their number, with its interval at `confidence`.
///
/// `x̄ ± t(n₁-1) · s₁ / √n`: the mean and the count are those of all results, the standard deviation and its degrees of freedom those
/// of the pilot. `None` for a pilot of fewer than two results, or of more than there are.
#[must_use]
pub fn two_stage_interval(results: &[f64], pilot: usize, confidence: f64) -> Option<Estimate> {
    let all: Welford = results.iter().collect();
    let first: Welford = results.get(..pilot)?.iter().collect();
    let t = two_sided_t(confidence, pilot as f64 - 1.0)?;
    let half_width = t * first.sd()? / (results.len() as f64).sqrt();
    Estimate::around(
        all.mean()?,
        half_width,
        confidence,
        results.len(),
        IntervalMethod::TwoStageT,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PILOT: [f64; 6] = [10.0, 12.0, 9.0, 11.0, 8.0, 10.0];

    #[test]
    fn the_pilot_decides_on_the_number_of_runs() {
        // Mean 10, s = √2, t(0.975, 5) = 2.570582: (2.570582 · 1.414214 / 0.5)² = 52.86.
        assert_eq!(two_stage_runs(&PILOT, 0.05, 0.95), Some(53));
        assert_eq!(two_stage_runs(&PILOT, 0.1, 0.95), Some(14));
        // What the pilot reached already takes no more.
        assert_eq!(two_stage_runs(&PILOT, 0.5, 0.95), Some(6));
        assert_eq!(two_stage_runs(&[4.0; 5], 0.01, 0.95), Some(5));
        assert_eq!(two_stage_runs(&[4.0], 0.01, 0.95), None);
        assert_eq!(two_stage_runs(&[-1.0, 1.0], 0.01, 0.95), None);
        assert_eq!(two_stage_runs(&PILOT, 0.0, 0.95), None);
    }

    #[test]
    fn the_interval_has_the_mean_of_all_and_the_spread_of_the_pilot() {
        let all: Vec<f64> = PILOT.iter().copied().chain([10.0; 10]).collect();
        let interval = two_stage_interval(&all, PILOT.len(), 0.95).unwrap();
        assert_eq!((interval.mean, interval.n), (10.0, 16));
        // 2.570582 · 1.414214 / 4
        assert_eq!(format!("{:.5}", interval.half_width()), "0.90884");
        assert_eq!(interval.method, IntervalMethod::TwoStageT);
        assert_eq!(two_stage_interval(&all, 1, 0.95), None);
        assert_eq!(two_stage_interval(&all, 17, 0.95), None);
    }

    proptest! {
        #[test]
        fn with_the_runs_computed_the_goal_is_met(
            pilot in proptest::collection::vec(90.0..110.0_f64, 5..20),
            relative in 0.005..0.2_f64,
        ) {
            let runs = two_stage_runs(&pilot, relative, 0.95).unwrap() as usize;
            let mean = pilot.iter().sum::<f64>() / pilot.len() as f64;
            let mut all = pilot.clone();
            all.resize(runs, mean);
            let reached = two_stage_interval(&all, pilot.len(), 0.95).unwrap();
            prop_assert!(reached.half_width() <= relative * mean * (1.0 + 1e-9));
        }

        #[test]
        fn no_results_make_it_panic(values: Vec<f64>, pilot in 0_usize..9, relative: f64) {
            let _ = two_stage_runs(&values, relative, 0.95);
            let _ = two_stage_interval(&values, pilot, 0.95);
        }
    }
}
