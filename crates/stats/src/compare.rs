//! Two configurations against each other: the size of the difference first, its improbability second.

use serde::{Deserialize, Serialize};

use super::estimate::{Estimate, Method, Welford, two_sided_t};
use super::special::{normal_two_sided, student_two_sided};

/// The difference between two means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Welch {
    /// The first mean less the second, with its interval; `n` counts the results of both.
    pub difference: Estimate,
    /// The standard error of the difference, in its unit.
    pub standard_error: f64,
    /// The difference in standard errors.
    pub t: f64,
    /// Degrees of freedom after Welch and Satterthwaite.
    pub df: f64,
    /// The probability of so large a difference, either way, between equal means.
    pub p: f64,
}

/// Welch's comparison of the means of two sets of independent results, of unequal spread and number.
///
/// `None` with fewer than two results in either, when neither has any spread, or for a confidence outside 0 to 1.
/// Source: Welch, "The Generalization of 'Student's' Problem when Several Different Population Variances are
/// Involved", 1947.
#[must_use]
pub fn welch(first: &[f64], second: &[f64], confidence: f64) -> Option<Welch> {
    let share = |results: &[f64]| {
        let seen: Welford = results.iter().collect();
        let n = results.len() as f64;
        let of_mean = seen.variance()? / n;
        Some((seen.mean()?, of_mean, of_mean * of_mean / (n - 1.0)))
    };
    let (mean1, variance1, term1) = share(first)?;
    let (mean2, variance2, term2) = share(second)?;
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
        difference: Estimate::around(mean1 - mean2, half_width, confidence, n, Method::WelchT)?,
        standard_error,
        t,
        df,
        p: student_two_sided(t, df),
    })
}

/// How often one set is above another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// Pairs in which the first is larger, ties counting half.
    pub u: f64,
    /// The probability of so uneven a split, either way, in two sets from the same distribution.
    pub p: f64,
    /// Whether `p` is exact rather than the normal approximation.
    pub exact: bool,
}

/// The Mann–Whitney test of two sets of independent results, without assuming any distribution.
///
/// Exact up to 400 pairs without ties, else by the normal approximation with corrections for ties and continuity.
/// `None` when either is empty or a value is not finite. Source: Mann and Whitney, "On a Test of Whether one of Two
/// Random Variables is Stochastically Larger than the Other", 1947.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    const EXACT_PAIRS: usize = 400;
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
        let ours = equal.iter().filter(|(_, ours)| *ours).count() as f64;
        let size = equal.len() as f64;
        let theirs = size - ours;
        u += ours * (below + theirs / 2.0);
        below += theirs;
        tie_term += size * size * size - size;
    }
    let exact = tie_term == 0.0 && first.len().saturating_mul(second.len()) <= EXACT_PAIRS;
    let p = if exact {
        exact_p(first.len(), second.len(), u as usize)
    } else {
        let total = n + m;
        let variance = n * m / 12.0 * (total + 1.0 - tie_term / (total * (total - 1.0)));
        let off = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
        if variance > 0.0 {
            normal_two_sided(off / variance.sqrt())
        } else {
            1.0
        }
    };
    Some(MannWhitney { u, p, exact })
}

/// The two-sided probability of `u` among all ways to interleave `n` and `m` results.
fn exact_p(n: usize, m: usize, u: usize) -> f64 {
    let pairs = n * m;
    // Coefficients of the Gaussian binomial Π (1 - x^(m+i)) / (1 - x^i): the ways to reach each u.
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

/// The median of all differences between a result of the first and one of the second: the shift between them.
///
/// `None` when either is empty, a value is not finite, or there are more than ten million pairs. Source: Hodges and
/// Lehmann, "Estimates of Location Based on Rank Tests", 1963.
#[must_use]
pub fn hodges_lehmann(first: &[f64], second: &[f64]) -> Option<f64> {
    const MOST_PAIRS: usize = 10_000_000;
    if first.len().saturating_mul(second.len()) > MOST_PAIRS {
        return None;
    }
    let mut differences: Vec<f64> = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| a - b))
        .collect();
    if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
        return None;
    }
    differences.sort_unstable_by(f64::total_cmp);
    let middle = differences.len() / 2;
    if differences.len() % 2 == 1 {
        return Some(differences[middle]);
    }
    Some(f64::midpoint(differences[middle - 1], differences[middle]))
}

/// Probabilities of several comparisons, raised so that one false alarm among all stays as improbable as it claims.
///
/// In the order given; what is no probability counts as 1. Source: Holm, "A Simple Sequentially Rejective Multiple Test
/// Procedure", 1979.
#[must_use]
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let sane = |p: f64| if (0.0..=1.0).contains(&p) { p } else { 1.0 };
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| sane(probabilities[a]).total_cmp(&sane(probabilities[b])));
    let mut adjusted = vec![1.0; probabilities.len()];
    let mut least = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let left = (probabilities.len() - rank) as f64;
        least = least.max((left * sane(probabilities[index])).min(1.0));
        adjusted[index] = least;
    }
    adjusted
}

/// The ratio of two means of independent results and the interval it lies in at `confidence`.
///
/// `x̄/ȳ ± t(ν) · √(s²x/(nx ȳ²) + x̄² s²y/(ny ȳ⁴))`, with Welch's and Satterthwaite's ν: the interval to first order (delta method),
/// good while the mean below is many of its standard errors away from zero. `None` for fewer than two results on either side, a
/// confidence outside 0 to 1, and a mean of zero below.
#[must_use]
pub fn ratio_interval(above: &[f64], below: &[f64], confidence: f64) -> Option<Estimate> {
    let (x, y): (Welford, Welford) = (above.iter().collect(), below.iter().collect());
    let (mean_x, mean_y) = (x.mean()?, y.mean()?);
    let part_x = x.variance()? / x.n() as f64 / mean_y.powi(2);
    let part_y = y.variance()? / y.n() as f64 * mean_x.powi(2) / mean_y.powi(4);
    let both = part_x + part_y;
    let ratio = mean_x / mean_y;
    let n = above.len() + below.len();
    if both == 0.0 {
        return Estimate::around(ratio, 0.0, confidence, n, Method::RatioT);
    }
    let degrees = both.powi(2)
        / (part_x.powi(2) / (x.n() as f64 - 1.0) + part_y.powi(2) / (y.n() as f64 - 1.0));
    let half_width = two_sided_t(confidence, degrees)? * both.sqrt();
    Estimate::around(ratio, half_width, confidence, n, Method::RatioT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: [f64; 5] = [941.2, 938.7, 940.1, 942.3, 939.9];
    const B: [f64; 5] = [925.0, 930.2, 928.8, 934.1, 927.5];

    #[test]
    fn two_configurations_differ_by_so_much_give_or_take() {
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
            (10, Method::WelchT)
        );
    }

    #[test]
    fn ranks_tell_the_same_without_assuming_a_distribution() {
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
    fn nothing_can_be_compared_with_nothing() {
        assert_eq!(welch(&A, &[1.0], 0.95), None);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0], 0.95), None);
        assert_eq!(mann_whitney(&A, &[]), None);
        assert_eq!(mann_whitney(&A, &[f64::NAN]), None);
        assert_eq!(hodges_lehmann(&[], &A), None);
        assert_eq!(holm(&[]), Vec::<f64>::new());
    }

    #[test]
    fn many_comparisons_make_each_less_convincing() {
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
    fn a_ratio_knows_the_spread_of_both_sides() {
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
