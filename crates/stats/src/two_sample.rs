//! Tests and estimates for two sets of independent results.

use serde::{Deserialize, Serialize};

use crate::critical::two_sided_t;
use crate::estimate::{Estimate, IntervalMethod};
use crate::quantile::midpoint_median;
use crate::special::{normal_two_sided, student_two_sided};
use crate::welford::Welford;

/// The difference between two means by Welch's t-test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Welch {
    /// The first mean minus the second, with its interval; `n` counts the results of both.
    pub difference: Estimate,
    /// The standard error of the difference, in its unit.
    pub standard_error: f64,
    /// The test statistic: the difference in standard errors.
    pub t: f64,
    /// The degrees of freedom by Welch and Satterthwaite.
    pub df: f64,
    /// The two-sided p-value: the probability of so large a difference between equal means.
    pub p: f64,
}

/// Welch's t-test for two sets of independent results with unequal variances and counts.
///
/// `None` with fewer than two results in either, when neither has any variance, or for a confidence outside 0 to 1.
/// Source: Welch, "The Generalization of 'Student's' Problem when Several Different Population Variances are
/// Involved", 1947.
#[must_use]
pub fn welch(first: &[f64], second: &[f64], confidence: f64) -> Option<Welch> {
    let moments = |results: &[f64]| {
        let statistics: Welford = results.iter().collect();
        let n = results.len() as f64;
        let of_mean = statistics.variance()? / n;
        Some((statistics.mean()?, of_mean, of_mean * of_mean / (n - 1.0)))
    };
    let (mean1, variance1, term1) = moments(first)?;
    let (mean2, variance2, term2) = moments(second)?;
    let variance = variance1 + variance2;
    let standard_error = variance.sqrt();
    let t = (mean1 - mean2) / standard_error;
    let df = variance * variance / (term1 + term2);
    if !(t.is_finite() && df.is_finite() && df > 0.0) {
        return None;
    }
    let half_width = two_sided_t(confidence, df)? * standard_error;
    let n = first.len() + second.len();
    Some(Welch {
        difference: Estimate::around(
            mean1 - mean2,
            half_width,
            confidence,
            n,
            IntervalMethod::WelchT,
        )?,
        standard_error,
        t,
        df,
        p: student_two_sided(t, df),
    })
}

/// The result of the Mann–Whitney test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// The number of pairs in which the first result is larger, ties counting half.
    pub u: f64,
    /// The two-sided p-value: the probability of so uneven a split of two sets from the same distribution.
    pub p: f64,
    /// `true` when `p` is exact, `false` for the normal approximation.
    pub exact: bool,
}

/// The Mann–Whitney test for two sets of independent results, without assuming a distribution.
///
/// Exact up to 400 pairs without ties, else by the normal approximation with corrections for ties and continuity.
/// `None` when either is empty or a value is not finite. Source: Mann and Whitney, "On a Test of Whether one of Two
/// Random Variables is Stochastically Larger than the Other", 1947.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    const MAX_EXACT_PAIRS: usize = 400;
    let finite = |values: &[f64]| !values.is_empty() && values.iter().all(|v| v.is_finite());
    if !finite(first) || !finite(second) {
        return None;
    }
    let (n, m) = (first.len() as f64, second.len() as f64);
    let mut pooled: Vec<(f64, bool)> = first.iter().map(|&value| (value, true)).collect();
    pooled.extend(second.iter().map(|&value| (value, false)));
    pooled.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut u, mut below, mut tie_term) = (0.0, 0.0, 0.0);
    for equal in pooled.chunk_by(|a, b| a.0 == b.0) {
        let firsts = equal.iter().filter(|(_, is_first)| *is_first).count() as f64;
        let size = equal.len() as f64;
        let seconds = size - firsts;
        u += firsts * (below + seconds / 2.0);
        below += seconds;
        tie_term += size * size * size - size;
    }
    let exact = tie_term == 0.0 && first.len().saturating_mul(second.len()) <= MAX_EXACT_PAIRS;
    let p = if exact {
        exact_p(first.len(), second.len(), u as usize)
    } else {
        let total = n + m;
        let variance = n * m / 12.0 * (total + 1.0 - tie_term / (total * (total - 1.0)));
        let deviation = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
        if variance > 0.0 {
            normal_two_sided(deviation / variance.sqrt())
        } else {
            1.0
        }
    };
    Some(MannWhitney { u, p, exact })
}

/// The exact two-sided p-value of `u` for `n` and `m` results without ties.
fn exact_p(n: usize, m: usize, u: usize) -> f64 {
    let pairs = n * m;
    // The coefficients of the Gaussian binomial Π (1 - x^(m+i)) / (1 - x^i) count the orders that give each u.
    let mut ways = vec![0.0_f64; pairs + 1];
    ways[0] = 1.0;
    let (short, long) = (n.min(m), n.max(m));
    for i in 1..=short {
        for k in (long + i..=pairs).rev() {
            ways[k] -= ways[k - long - i];
        }
        for k in i..=pairs {
            ways[k] += ways[k - i];
        }
    }
    let extreme = u.max(pairs - u.min(pairs)).min(pairs);
    let all: f64 = ways.iter().sum();
    let tail: f64 = ways[extreme..].iter().sum();
    (2.0 * tail / all).clamp(0.0, 1.0)
}

/// The Hodges–Lehmann estimate of the shift: the median of all differences between a result of the first and one of the second.
///
/// `None` when either is empty, a value is not finite, or there are more than ten million pairs. Source: Hodges and
/// Lehmann, "Estimates of Location Based on Rank Tests", 1963.
#[must_use]
pub fn hodges_lehmann(first: &[f64], second: &[f64]) -> Option<f64> {
    const MAX_PAIRS: usize = 10_000_000;
    if first.len().saturating_mul(second.len()) > MAX_PAIRS {
        return None;
    }
    let differences: Vec<f64> = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| a - b))
        .collect();
    if differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    midpoint_median(differences)
}

/// The p-values of several tests adjusted by Holm's method, which bounds the probability of any false positive.
///
/// In the order given; a value that is not a probability counts as 1. Source: Holm, "A Simple Sequentially Rejective Multiple Test
/// Procedure", 1979.
#[must_use]
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let valid = |p: f64| if (0.0..=1.0).contains(&p) { p } else { 1.0 };
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| valid(probabilities[a]).total_cmp(&valid(probabilities[b])));
    let mut adjusted = vec![1.0; probabilities.len()];
    let mut running_max = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let remaining = (probabilities.len() - rank) as f64;
        running_max = running_max.max((remaining * valid(probabilities[index])).min(1.0));
        adjusted[index] = running_max;
    }
    adjusted
}

/// The ratio of two means of independent results with its interval at `confidence`.
///
/// `x̄/ȳ ± t(ν) · √(s²x/(nx ȳ²) + x̄² s²y/(ny ȳ⁴))`, with ν by Welch and Satterthwaite: a first-order interval (delta method), valid
/// while the denominator's mean is many of its standard errors away from zero. `None` for fewer than two results on either side, a
/// confidence outside 0 to 1, and a denominator with mean zero.
#[must_use]
pub fn ratio_interval(numerator: &[f64], denominator: &[f64], confidence: f64) -> Option<Estimate> {
    let (x, y): (Welford, Welford) = (numerator.iter().collect(), denominator.iter().collect());
    let (mean_x, mean_y) = (x.mean()?, y.mean()?);
    let variance_x = x.variance()? / x.n() as f64 / mean_y.powi(2);
    let variance_y = y.variance()? / y.n() as f64 * mean_x.powi(2) / mean_y.powi(4);
    let variance = variance_x + variance_y;
    let ratio = mean_x / mean_y;
    let n = numerator.len() + denominator.len();
    if variance == 0.0 {
        return Estimate::around(ratio, 0.0, confidence, n, IntervalMethod::RatioT);
    }
    let degrees = variance.powi(2)
        / (variance_x.powi(2) / (x.n() as f64 - 1.0) + variance_y.powi(2) / (y.n() as f64 - 1.0));
    let half_width = two_sided_t(confidence, degrees)? * variance.sqrt();
    Estimate::around(ratio, half_width, confidence, n, IntervalMethod::RatioT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: [f64; 5] = [941.2, 938.7, 940.1, 942.3, 939.9];
    const B: [f64; 5] = [925.0, 930.2, 928.8, 934.1, 927.5];

    #[test]
    fn welch_gives_the_difference_of_two_means_with_its_interval() {
        let found = welch(&A, &B, 0.95).unwrap();
        assert_eq!(format!("{:.2}", found.difference.mean), "11.32");
        assert_eq!(format!("{:.5}", found.standard_error), "1.63003");
        assert_eq!(format!("{:.5}", found.t), "6.94465");
        assert_eq!(format!("{:.4}", found.df), "5.2748");
        assert_eq!(format!("{:.3e}", found.p), "7.636e-4");
        assert_eq!(format!("{:.4}", found.difference.low), "7.1947");
        assert_eq!(format!("{:.4}", found.difference.high), "15.4453");
        assert_eq!(
            (found.difference.n, found.difference.method),
            (10, IntervalMethod::WelchT)
        );
    }

    #[test]
    fn ranks_show_the_same_difference_without_assuming_a_distribution() {
        let found = mann_whitney(&A, &B).unwrap();
        assert_eq!((found.u, found.exact), (25.0, true));
        assert_eq!(format!("{:.7}", found.p), "0.0079365");
        assert_eq!(mann_whitney(&B, &A).unwrap().p, found.p);
        assert_eq!(format!("{:.1}", hodges_lehmann(&A, &B).unwrap()), "11.3");
    }

    #[test]
    fn ties_fall_back_to_the_normal_approximation() {
        let found = mann_whitney(&[1.0, 2.0, 2.0], &[2.0, 3.0, 4.0]).unwrap();
        assert_eq!((found.u, found.exact), (1.0, false));
        assert_eq!(mann_whitney(&[1.0; 4], &[1.0; 4]).unwrap().p, 1.0);
    }

    #[test]
    fn the_approximation_meets_the_exact_probability_where_they_change_over() {
        let first: Vec<f64> = (0..20).map(|i| f64::from(3 * i)).collect();
        let second: Vec<f64> = (0..20).map(|i| f64::from(3 * i + 13)).collect();
        let exact = mann_whitney(&first, &second).unwrap();
        let more: Vec<f64> = second.iter().copied().chain([40.5]).collect();
        let approximate = mann_whitney(&first, &more).unwrap();
        assert!(exact.exact && !approximate.exact);
        assert!(
            (exact.p - approximate.p).abs() < 0.02,
            "{exact:?} {approximate:?}"
        );
    }

    #[test]
    fn too_few_results_give_no_comparison() {
        assert_eq!(welch(&A, &[1.0], 0.95), None);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0], 0.95), None);
        assert_eq!(mann_whitney(&A, &[]), None);
        assert_eq!(mann_whitney(&A, &[f64::NAN]), None);
        assert_eq!(hodges_lehmann(&[], &A), None);
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }

    #[test]
    fn holm_raises_the_p_values_of_several_comparisons() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let rounded: Vec<String> = adjusted.iter().map(|p| format!("{p:.3}")).collect();
        assert_eq!(rounded, ["0.030", "0.060", "0.060", "0.020"]);
        assert_eq!(holm(&[f64::NAN, 0.5]), [1.0, 1.0]);
    }

    proptest! {
        #[test]
        fn no_results_make_a_comparison_panic(first: Vec<f64>, second: Vec<f64>) {
            let _ = (welch(&first, &second, 0.95), mann_whitney(&first, &second));
            let _ = (hodges_lehmann(&first, &second), holm(&first));
        }

        #[test]
        fn the_order_of_the_two_does_not_matter(first in proptest::collection::vec(-1e3..1e3_f64, 1..30), second in proptest::collection::vec(-1e3..1e3_f64, 1..30)) {
            let (one, other) = (mann_whitney(&first, &second).unwrap(), mann_whitney(&second, &first).unwrap());
            prop_assert!((one.p - other.p).abs() < 1e-9);
            prop_assert_eq!(one.u + other.u, (first.len() * second.len()) as f64);
            prop_assert!((0.0..=1.0).contains(&one.p));
        }
    }

    #[test]
    fn the_interval_of_a_ratio_includes_the_variance_of_both_sides() {
        let exact_below = ratio_interval(&[1.0, 2.0, 3.0], &[2.0, 2.0], 0.95).unwrap();
        let above = crate::mean_interval(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert_eq!(exact_below.mean, 1.0);
        assert!((exact_below.half_width() - above.half_width() / 2.0).abs() < 1e-9);
        let both = ratio_interval(&[9.0, 10.0, 11.0], &[99.0, 100.0, 101.0], 0.95).unwrap();
        // √(1/3 / 100² + 10² / 3 / 100⁴) with 2.04 degrees of freedom.
        assert!(
            (both.half_width() / 0.005_802_3 - 4.24).abs() < 0.04,
            "{both:?}"
        );
        assert_eq!(ratio_interval(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio_interval(&[1.0, 2.0], &[-1.0, 1.0], 0.95), None);
    }
}
