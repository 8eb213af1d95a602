//! Probabilities with exact arithmetic.

use serde::{Deserialize, Serialize};

use crate::error::LinkError;

/// A probability, in whole 2^-63.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(u64);

impl Probability {
    const ONE: u64 = 1 << 63;
    /// The probability of what never happens, 0.
    pub const NEVER: Self = Self(0);
    /// The probability of what always happens, 1.
    pub const ALWAYS: Self = Self(Self::ONE);

    /// The probability nearest to `fraction`.
    ///
    /// # Errors
    /// [`LinkError::InvalidProbability`] outside of 0 to 1.
    pub fn new(fraction: f64) -> Result<Self, LinkError> {
        if (0.0..=1.0).contains(&fraction) {
            Ok(Self((fraction * Self::ONE as f64) as u64))
        } else {
            Err(LinkError::InvalidProbability(fraction))
        }
    }

    /// The probability as a fraction from 0 to 1.
    #[must_use]
    pub fn fraction(self) -> f64 {
        self.0 as f64 / Self::ONE as f64
    }

    /// The number that a uniform integer below 2^63 stays below with this probability.
    pub(crate) const fn threshold(self) -> u64 {
        self.0
    }

    /// `part` divided by `whole`, at most [`Self::ALWAYS`].
    pub(crate) fn ratio(part: u128, whole: u128) -> Self {
        if part >= whole {
            return Self::ALWAYS;
        }
        // Keeps the product below 2^127; the bits lost are below one in 2^64.
        let shift = (u128::BITS - whole.leading_zeros()).saturating_sub(64);
        let product = (part >> shift) * u128::from(Self::ONE) / (whole >> shift).max(1);
        Self(u64::try_from(product).map_or(Self::ONE, |p| p.min(Self::ONE)))
    }
}

impl TryFrom<f64> for Probability {
    type Error = LinkError;

    fn try_from(fraction: f64) -> Result<Self, LinkError> {
        Self::new(fraction)
    }
}

impl From<Probability> for f64 {
    fn from(probability: Probability) -> Self {
        probability.fraction()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_numbers_from_zero_to_one() {
        for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(Probability::new(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Probability::ratio(1, 4), Probability::new(0.25).unwrap());
        assert_eq!(Probability::ratio(u128::MAX / 2, u128::MAX).fraction(), 0.5);
    }
}
