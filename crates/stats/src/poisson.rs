//! The Poisson distribution.

use crate::special::normal_two_sided;
use statrs::distribution::{DiscreteCDF, Poisson};

/// The mean from which the normal distribution stands for it: the series of the exact one grows with its root.
const LARGE: f64 = 1e6;

/// The probability of at least `count` events where `mean` are expected; `None` unless the mean is finite and not negative.
#[must_use]
pub fn poisson_tail(count: u64, mean: f64) -> Option<f64> {
    if !(mean.is_finite() && mean >= 0.0) {
        return None;
    }
    if mean >= LARGE {
        let z = (count as f64 - 0.5 - mean) / mean.sqrt();
        let beyond = normal_two_sided(z) / 2.0;
        return Some(if z > 0.0 { beyond } else { 1.0 - beyond });
    }
    match (count.checked_sub(1), Poisson::new(mean)) {
        (None, _) => Some(1.0),
        // None are expected.
        (Some(_), Err(_)) => Some(0.0),
        (Some(below), Ok(events)) => Some(events.sf(below)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_tables() {
        let near = |count, mean, expected: f64| {
            let found = poisson_tail(count, mean).unwrap();
            assert!((found - expected).abs() < 1e-3, "{count} {mean}: {found}");
        };
        near(0, 3.0, 1.0);
        near(1, 3.0, 0.950_213);
        near(6, 3.0, 0.083_918);
        near(1, 0.0, 0.0);
        near(600, 500.0, 0.0);
        near(5000, 5000.0, 0.5019);
        near(u64::MAX, 10.0, 0.0);
        // What another end reports may be anything.
        near(1 << 60, (1u64 << 60) as f64, 0.5);
        near(u64::MAX, 1e300, 1.0);
        near(u64::MAX, 999_999.0, 0.0);
        assert_eq!(poisson_tail(1, f64::NAN), None);
        assert_eq!(poisson_tail(1, -1.0), None);
    }
}
