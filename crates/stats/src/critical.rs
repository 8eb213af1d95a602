//! Quantiles of the normal distribution and of Student's t, and the critical values of two-sided intervals.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::special::student_two_sided;

/// The `p`-quantile of the standard normal distribution; `None` unless 0 < p < 1.
#[must_use]
pub fn normal_quantile(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| Normal::standard().inverse_cdf(p))
}

/// The `p`-quantile of Student's t distribution with `df` degrees of freedom.
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

/// The critical value of Student's t for a two-sided interval at `confidence`, which lies between 0 and 1.
pub(crate) fn two_sided_t(confidence: f64, df: f64) -> Option<f64> {
    student_t_quantile(f64::midpoint(1.0, valid_confidence(confidence)?), df)
}

/// The critical value of the standard normal for a two-sided interval at `confidence`, which lies between 0 and 1.
pub(crate) fn two_sided_z(confidence: f64) -> Option<f64> {
    normal_quantile(f64::midpoint(1.0, valid_confidence(confidence)?))
}

fn valid_confidence(confidence: f64) -> Option<f64> {
    (confidence > 0.0 && confidence < 1.0).then_some(confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_student_t_and_normal_agree_with_the_tables() {
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
}
