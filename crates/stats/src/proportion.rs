//! Intervals for proportions, such as packet loss.

use crate::critical::{normal_quantile, two_sided_z};
use crate::estimate::{Estimate, IntervalMethod};
use crate::special::incomplete_beta;

/// The proportion `k` of `n` with its interval at `confidence`.
///
/// Wilson's score interval, which stays within 0 to 1 and has a positive width at k = 0. It assumes independent events; losses
/// in bursts make it too narrow. `None` for n = 0, k > n or a confidence outside 0 to 1. Source: Wilson, "Probable
/// Inference, the Law of Succession, and Statistical Inference", 1927.
#[must_use]
pub fn wilson(k: u64, n: u64, confidence: f64) -> Option<Estimate> {
    let z = two_sided_z(confidence)?;
    let (low, high) = score_interval(k, n, z)?;
    Some(Estimate {
        mean: k as f64 / n as f64,
        low,
        high,
        confidence,
        n,
        method: IntervalMethod::Wilson,
    })
}

/// The bounds of the score interval; `None` for n = 0 or k > n.
fn score_interval(k: u64, n: u64, z: f64) -> Option<(f64, f64)> {
    if n == 0 || k > n {
        return None;
    }
    let (p, count) = (k as f64 / n as f64, n as f64);
    let middle = p + z * z / (2.0 * count);
    let half = z * (p * (1.0 - p) / count + z * z / (4.0 * count * count)).sqrt();
    let scale = 1.0 + z * z / count;
    // At k = 0 and k = n the bound is exactly 0 and 1, but for rounding.
    let low = if k == 0 {
        0.0
    } else {
        ((middle - half) / scale).max(0.0)
    };
    let high = if k == n {
        1.0
    } else {
        ((middle + half) / scale).min(1.0)
    };
    Some((low, high))
}

/// The one-sided upper confidence bound of the true proportion when `k` of `n` were observed.
///
/// Clopper and Pearson's exact bound, the p at which k or fewer of n have probability 1 - confidence; the score
/// bound where both k and n - k exceed a million. `None` for n = 0, k > n or a confidence outside 0 to 1. Source: Clopper and Pearson,
/// "The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial", 1934.
#[must_use]
pub fn exact_upper(k: u64, n: u64, confidence: f64) -> Option<f64> {
    const MAX_EXACT: u64 = 1_000_000;
    let z = normal_quantile(confidence)?;
    if n == 0 || k > n {
        return None;
    }
    if k == n {
        return Some(1.0);
    }
    if k == 0 {
        // 1 - (1 - confidence)^(1/n), without losing the digits of a small result.
        return Some(-((1.0 - confidence).ln() / n as f64).exp_m1());
    }
    if k.min(n - k) > MAX_EXACT {
        return score_interval(k, n, z).map(|(_, high)| high);
    }
    let (mut low, mut high) = (k as f64 / n as f64, 1.0);
    if confidence < 0.5 {
        low = 0.0;
    }
    for _ in 0..80 {
        let middle = low + (high - low) / 2.0;
        if incomplete_beta(k as f64 + 1.0, (n - k) as f64, middle) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(low + (high - low) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn percent(fraction: f64) -> String {
        format!("{:.4}", fraction * 100.0)
    }

    #[test]
    fn no_loss_in_a_thousand_still_has_an_upper_bound() {
        let none = wilson(0, 1000, 0.95).unwrap();
        assert_eq!((none.mean, none.low), (0.0, 0.0));
        assert_eq!(percent(none.high), "0.3827");
        assert_eq!(percent(exact_upper(0, 1000, 0.95).unwrap()), "0.2991");
    }

    #[test]
    fn five_in_a_thousand_lie_within_the_score_interval() {
        let five = wilson(5, 1000, 0.95).unwrap();
        assert_eq!(
            (percent(five.low), percent(five.high)),
            ("0.2138".into(), "1.1651".into())
        );
        assert_eq!((five.n, five.method), (1000, IntervalMethod::Wilson));
    }

    #[test]
    fn at_the_exact_bound_so_few_have_the_complementary_probability() {
        let upper = exact_upper(5, 1000, 0.95).unwrap();
        let so_few = crate::special::binomial_cdf(1000, upper, 5);
        assert!((so_few - 0.05).abs() < 1e-9);
        assert_eq!(exact_upper(7, 7, 0.95), Some(1.0));
    }

    #[test]
    fn impossible_counts_have_no_interval() {
        assert_eq!(wilson(0, 0, 0.95), None);
        assert_eq!(wilson(2, 1, 0.95), None);
        assert_eq!(wilson(1, 2, 1.0), None);
        assert_eq!(exact_upper(0, 0, 0.95), None);
        assert_eq!(exact_upper(2, 1, 0.95), None);
        assert_eq!(exact_upper(1, 2, f64::NAN), None);
    }

    proptest! {
        #[test]
        fn the_interval_contains_the_fraction_and_stays_within_zero_and_one(k: u64, n: u64, confidence in 0.5..0.999_f64) {
            if let Some(loss) = wilson(k, n, confidence) {
                prop_assert!(0.0 <= loss.low && loss.low <= loss.mean && loss.mean <= loss.high && loss.high <= 1.0);
            }
        }

        #[test]
        fn the_exact_bound_is_above_the_fraction(k in 0_u64..3000, more in 1_u64..1_000_000) {
            let upper = exact_upper(k, k + more, 0.95).unwrap();
            prop_assert!(upper > k as f64 / (k + more) as f64 && upper <= 1.0);
        }
    }
}
