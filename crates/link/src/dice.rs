//! Chance from a seed: the same on every machine.

use rand_core::Rng as _;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use crate::error::LinkError;

/// Where a cell's chance comes from.
///
/// A generator (PCG XSL RR 128/64) that gives the same numbers everywhere, and functions from `libm`, which do too.
#[derive(Debug, Clone)]
pub struct Dice(Pcg64);

impl Dice {
    /// The numbers of `seed` on their own `stream`; streams of one seed have nothing to do with one another.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        // The multiplier parts seeds that differ in one bit.
        let state = u128::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        Self(Pcg64::new(state, u128::from(stream)))
    }

    /// Sixty-four even bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number below `limit`, each as likely; zero for a `limit` of zero.
    ///
    /// Source: Lemire, "Fast Random Integer Generation in an Interval", 2019.
    pub fn below(&mut self, limit: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(limit);
        if (product as u64) < limit {
            let unfair = limit.wrapping_neg() % limit;
            while (product as u64) < unfair {
                product = u128::from(self.bits()) * u128::from(limit);
            }
        }
        (product >> 64) as u64
    }

    /// A number above 0 and below 1, of 52 even bits.
    pub fn fraction(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Whether something with probability `probability` happens this time.
    pub fn happens(&mut self, probability: Probability) -> bool {
        // What never or always happens takes no number, so switching it off changes nothing else.
        match probability.0 {
            0 => false,
            Probability::CERTAIN => true,
            threshold => self.bits() >> 1 < threshold,
        }
    }

    /// A normal deviate with mean 0 and standard deviation 1.
    ///
    /// Source: Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.fraction()));
        radius * libm::cos(std::f64::consts::TAU * self.fraction())
    }
}

/// How likely something is, in whole 2^-63.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(u64);

impl Probability {
    const CERTAIN: u64 = 1 << 63;
    /// It does not happen.
    pub const NEVER: Self = Self(0);
    /// It happens every time.
    pub const ALWAYS: Self = Self(Self::CERTAIN);

    /// The probability nearest to `fraction`.
    ///
    /// # Errors
    /// [`LinkError::NoProbability`] outside of 0 to 1.
    pub fn new(fraction: f64) -> Result<Self, LinkError> {
        if (0.0..=1.0).contains(&fraction) {
            Ok(Self((fraction * Self::CERTAIN as f64) as u64))
        } else {
            Err(LinkError::NoProbability(fraction))
        }
    }

    /// The probability as a fraction of 1.
    #[must_use]
    pub fn fraction(self) -> f64 {
        self.0 as f64 / Self::CERTAIN as f64
    }

    /// `part` of `whole`, at most [`Self::ALWAYS`].
    pub(crate) fn ratio(part: u128, whole: u128) -> Self {
        if part >= whole {
            return Self::ALWAYS;
        }
        // Keeps the product below 2^127; the bits lost are below one in 2^64.
        let shift = (u128::BITS - whole.leading_zeros()).saturating_sub(64);
        let product = (part >> shift) * u128::from(Self::CERTAIN) / (whole >> shift).max(1);
        Self(u64::try_from(product).map_or(Self::CERTAIN, |p| p.min(Self::CERTAIN)))
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
    fn the_same_seed_and_stream_give_the_same_numbers_on_every_machine() {
        let numbers = |seed, stream| {
            let mut dice = Dice::new(seed, stream);
            [(); 4].map(|()| dice.bits())
        };
        assert_eq!(numbers(1, 2), numbers(1, 2));
        assert_ne!(numbers(1, 2), numbers(1, 3));
        assert_ne!(numbers(1, 2), numbers(2, 2));
    }

    #[test]
    fn probabilities_are_numbers_from_zero_to_one() {
        for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(Probability::new(wrong).is_err(), "{wrong}");
        }
        let mut dice = Dice::new(3, 0);
        assert!(!dice.happens(Probability::new(0.0).unwrap()));
        assert!(dice.happens(Probability::new(1.0).unwrap()));
        assert_eq!(Probability::ratio(1, 4), Probability::new(0.25).unwrap());
        assert_eq!(Probability::ratio(u128::MAX / 2, u128::MAX).fraction(), 0.5);
    }

    #[test]
    fn numbers_below_a_limit_are_below_it() {
        let mut dice = Dice::new(4, 0);
        for limit in [1, 2, 3, 1000, u64::MAX] {
            for _ in 0..100 {
                assert!(dice.below(limit) < limit);
            }
        }
        assert_eq!(dice.below(0), 0);
    }
}
