//! The mean and variance of values that arrive one at a time.

use serde::{Deserialize, Serialize};

/// The running mean and variance of values that arrive one at a time, without the cancellation of summed squares.
///
/// Source: Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", 1962; merging: Chan,
/// Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Welford {
    n: u64,
    mean: f64,
    squared_deviations: f64,
}

impl Welford {
    /// An accumulator without values.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            n: 0,
            mean: 0.0,
            squared_deviations: 0.0,
        }
    }

    /// Adds one value.
    pub fn push(&mut self, value: f64) {
        self.n += 1;
        let deviation = value - self.mean;
        self.mean += deviation / self.n as f64;
        self.squared_deviations += deviation * (value - self.mean);
    }

    /// Adds the values of another accumulator.
    pub fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        let (n, other_n) = (self.n as f64, other.n as f64);
        let total = n + other_n;
        let difference = other.mean - self.mean;
        self.mean += difference * other_n / total;
        self.squared_deviations +=
            other.squared_deviations + difference * difference * n * other_n / total;
        self.n += other.n;
    }

    /// The number of values added.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// The mean; `None` without values, or when one was not finite.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0 && self.mean.is_finite()).then_some(self.mean)
    }

    /// The sample variance, over n - 1; `None` for fewer than two values, or when one was not finite.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        let variance = self.squared_deviations / (self.n.checked_sub(1)? as f64);
        variance.is_finite().then_some(variance)
    }

    /// The sample standard deviation, over n - 1; `None` for fewer than two values, or when one was not finite.
    #[must_use]
    pub fn sd(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }
}

impl<'v> FromIterator<&'v f64> for Welford {
    fn from_iter<I: IntoIterator<Item = &'v f64>>(values: I) -> Self {
        let mut welford = Self::new();
        for value in values {
            welford.push(*value);
        }
        welford
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_equals_adding_every_value(left in proptest::collection::vec(-1e6..1e6_f64, 0..50), right in proptest::collection::vec(-1e6..1e6_f64, 2..50)) {
            let mut merged: Welford = left.iter().collect();
            merged.merge(&right.iter().collect());
            let all: Welford = left.iter().chain(&right).collect();
            prop_assert_eq!(merged.n(), all.n());
            prop_assert!((merged.mean().unwrap() - all.mean().unwrap()).abs() < 1e-6);
            prop_assert!((merged.variance().unwrap() / all.variance().unwrap() - 1.0).abs() < 1e-6);
        }
    }
}
