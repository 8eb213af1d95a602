//! A small random number generator for shuffles and schedules, and its mixing function as a hash.

/// The increment of the generator's state: the golden ratio in 64 bits.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64: the same numbers for the same seed on every machine.
///
/// Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The generator of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Sixty-four uniform bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// A uniform integer below `bound`, which is above zero.
    ///
    /// Numbers beyond the largest multiple of `bound`, which would favour small results, are rejected.
    ///
    /// # Panics
    /// When `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let number = self.next_u64();
            if number < limit {
                return number % bound;
            }
        }
    }
}

/// SplitMix64's mixing function: every bit of the result depends on every bit of `value`.
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_reference_implementation() {
        // https://prng.di.unimi.it/splitmix64.c with seed 1234567.
        let mut rng = SplitMix64::new(1_234_567);
        let numbers = [(); 3].map(|()| rng.next_u64());
        let reference = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(numbers, reference);
    }

    #[test]
    fn integers_below_a_bound_are_below_it() {
        let mut rng = SplitMix64::new(1);
        for bound in [1, 2, 3, 1000, u64::MAX] {
            assert!((0..100).all(|_| rng.below(bound) < bound));
        }
    }
}
