//! Random numbers from a seed, the same on every machine.

use rand_core::Rng as _;
use rand_pcg::Pcg64;

use crate::probability::Probability;

/// A random number generator: PCG XSL RR 128/64, with functions from `libm`, both of which give the same numbers everywhere.
#[derive(Debug, Clone)]
pub struct Rng(Pcg64);

impl Rng {
    /// The generator of `seed` on `stream`; the streams of one seed are independent.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        // The multiplier separates seeds that differ in one bit.
        let state = u128::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        Self(Pcg64::new(state, u128::from(stream)))
    }

    /// Sixty-four uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer below `limit`; zero for a `limit` of zero.
    ///
    /// Source: Lemire, "Fast Random Integer Generation in an Interval", 2019.
    pub fn below(&mut self, limit: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(limit);
        if (product as u64) < limit {
            let threshold = limit.wrapping_neg() % limit;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(limit);
            }
        }
        (product >> 64) as u64
    }

    /// A uniform number above 0 and below 1, of 52 bits.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// `true` with `probability`.
    pub fn bernoulli(&mut self, probability: Probability) -> bool {
        // What never or always happens draws no number, so that switching it off changes nothing else.
        if probability == Probability::NEVER {
            false
        } else if probability == Probability::ALWAYS {
            true
        } else {
            self.next_u64() >> 1 < probability.threshold()
        }
    }

    /// A normal deviate with mean 0 and standard deviation 1.
    ///
    /// Source: Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// An exponential deviate with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_stream_give_the_same_numbers() {
        let numbers = |seed, stream| {
            let mut rng = Rng::new(seed, stream);
            [(); 4].map(|()| rng.next_u64())
        };
        assert_eq!(numbers(1, 2), numbers(1, 2));
        assert_ne!(numbers(1, 2), numbers(1, 3));
        assert_ne!(numbers(1, 2), numbers(2, 2));
    }

    #[test]
    fn what_is_impossible_never_happens_and_what_is_certain_always() {
        let mut rng = Rng::new(3, 0);
        assert!(!rng.bernoulli(Probability::new(0.0).unwrap()));
        assert!(rng.bernoulli(Probability::new(1.0).unwrap()));
    }

    #[test]
    fn integers_below_a_limit_are_below_it() {
        let mut rng = Rng::new(4, 0);
        for limit in [1, 2, 3, 1000, u64::MAX] {
            for _ in 0..100 {
                assert!(rng.below(limit) < limit);
            }
        }
        assert_eq!(rng.below(0), 0);
    }
}
