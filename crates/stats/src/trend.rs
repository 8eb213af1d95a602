//! The Mann–Kendall test for a trend.

use serde::{Deserialize, Serialize};

use crate::special::normal_two_sided;

/// The result of the Mann–Kendall test for a trend.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MannKendall {
    /// The number of rising pairs minus the number of falling pairs.
    pub s: i64,
    /// `s` in standard deviations, with continuity correction.
    pub z: f64,
    /// The two-sided p-value: the probability of so strong a trend in values without one.
    pub p: f64,
}

/// The Mann–Kendall test for a trend, with ties, by the normal approximation.
///
/// `None` for fewer than three values or when all are equal. The test assumes independent values: correlation within a
/// run makes `p` too small. Source: Mann 1945; Kendall, "Rank Correlation Methods", 1975.
#[must_use]
pub fn mann_kendall(values: &[f64]) -> Option<MannKendall> {
    let n = values.len() as i128;
    if n < 3 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    let inversions = sort_counting_inversions(&mut sorted);
    let mut ties = 0;
    let mut tie_term = 0;
    for equal in sorted.chunk_by(|a, b| a == b) {
        let t = equal.len() as i128;
        ties += t * (t - 1) / 2;
        tie_term += t * (t - 1) * (2 * t + 5);
    }
    let s = n * (n - 1) / 2 - ties - 2 * i128::from(inversions);
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

/// Sorts by merging and returns the number of inversions: pairs that were in the wrong order.
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
        fn no_series_makes_the_test_panic(values: Vec<f64>) {
            let _ = mann_kendall(&values);
        }
    }
}
