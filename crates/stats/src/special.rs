//! Special functions and the tail probabilities computed from them.

use statrs::function::erf::erfc;
use statrs::function::gamma::ln_gamma;

/// The regularised incomplete beta function I_x(a, b) for positive `a` and `b`, clamped to 0 at x ≤ 0 and 1 at x ≥ 1.
///
/// Lentz's continued fraction, which takes about √max(a, b) terms. Source: DLMF 8.17.22.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let scale = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    if x < (a + 1.0) / (a + b + 2.0) {
        (scale.exp() * beta_fraction(a, b, x) / a).min(1.0)
    } else {
        (1.0 - scale.exp() * beta_fraction(b, a, 1.0 - x) / b).max(0.0)
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    const MAX_TERMS: u32 = 100_000;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for term in 1..=MAX_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        let step = d * c;
        fraction *= step;
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// P(B ≤ k) for a binomial B of `n` trials with success probability `p`.
pub(crate) fn binomial_cdf(n: u64, p: f64, k: u64) -> f64 {
    if k >= n {
        return 1.0;
    }
    incomplete_beta((n - k) as f64, k as f64 + 1.0, 1.0 - p)
}

/// P(|T| > t) for Student's t with `df` degrees of freedom.
pub(crate) fn student_two_sided(t: f64, df: f64) -> f64 {
    incomplete_beta(df / 2.0, 0.5, df / (df + t * t))
}

/// P(|Z| > z) for a standard normal Z.
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    erfc(z.abs() / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_incomplete_beta_agrees_with_closed_forms() {
        for x in [0.001, 0.2, 0.5, 0.9, 0.999_f64] {
            // I_x(1, b) = 1 - (1-x)^b and I_x(a, 1) = x^a.
            assert!((incomplete_beta(1.0, 7.0, x) - (1.0 - (1.0 - x).powi(7))).abs() < 1e-12);
            assert!((incomplete_beta(7.0, 1.0, x) - x.powi(7)).abs() < 1e-12);
        }
        assert!((incomplete_beta(1e6, 1e6, 0.5) - 0.5).abs() < 1e-8);
    }

    #[test]
    fn the_binomial_adds_up() {
        assert!((binomial_cdf(20, 0.5, 5) - 0.020_694_732_666).abs() < 1e-10);
        assert!((binomial_cdf(3, 0.25, 0) - 0.421_875).abs() < 1e-12);
        assert_eq!(binomial_cdf(3, 0.25, 3), 1.0);
    }
}
