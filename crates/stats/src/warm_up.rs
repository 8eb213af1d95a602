//! Warm-up detection: the marginal standard error rules MSER and MSER-5.

use serde::{Deserialize, Serialize};

use crate::welford::Welford;

/// The warm-up of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mser {
    /// The number of values to drop from the front.
    pub drop: usize,
    /// `true` when that is more than half of the values: the run was too short to settle.
    pub rejected: bool,
}

/// The warm-up after which the mean of the remaining values has the smallest marginal standard error (MSER).
///
/// The smallest d that minimises `Σ_{i>d} (xᵢ-x̄_d)² / (n-d)²`, where at least five values remain because
/// the statistic is zero for one. `None` for fewer than ten values. Source: White, "An Effective Truncation Heuristic
/// for Bias Reduction in Simulation Output", 1997.
#[must_use]
pub fn mser(values: &[f64]) -> Option<Mser> {
    const MIN_VALUES: usize = 10;
    const MIN_KEPT: usize = 5;
    let n = values.len();
    if n < MIN_VALUES || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let statistics = mser_statistics(values);
    let drop = (0..=n - MIN_KEPT).min_by(|&a, &b| statistics[a].total_cmp(&statistics[b]))?;
    Some(Mser {
        drop,
        rejected: drop > n / 2,
    })
}

/// As [`mser`] over the means of five values each, which is less sensitive to single values; `drop` counts values.
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

/// The MSER statistic for every number of dropped values.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const Y: [f64; 12] = [
        10.0, 30.0, 55.0, 80.0, 92.0, 95.0, 94.0, 96.0, 95.0, 94.0, 95.0, 96.0,
    ];

    #[test]
    fn the_warm_up_ends_where_the_marginal_standard_error_is_smallest() {
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

    proptest! {
        #[test]
        fn no_series_makes_a_statistic_panic(values: Vec<f64>) {
            let _ = (mser(&values), mser5(&values));
        }
    }
}
