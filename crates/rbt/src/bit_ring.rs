//! A bit for each number of a sliding window.

/// A bit for each number of a window of limited length, whose beginning moves up. Numbers of the window have bits of their own; whoever
/// moves the window clears what it leaves.
#[derive(Debug, Clone)]
pub(crate) struct BitRing {
    words: Vec<u64>,
    mask: u64,
}

impl BitRing {
    /// All zero, for a window of `len` numbers.
    pub(crate) fn new(len: u64) -> Self {
        let bits = len.clamp(64, 1 << 32).next_power_of_two();
        Self {
            words: vec![0; (bits / 64) as usize],
            mask: bits - 1,
        }
    }

    /// The bytes of memory that it holds.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    const fn place(&self, number: u64) -> (usize, u64) {
        let bit = number & self.mask;
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    /// Whether the bit is set.
    #[inline]
    pub(crate) fn get(&self, number: u64) -> bool {
        let (word, bit) = self.place(number);
        self.words[word] & bit != 0
    }

    /// Sets the bit: whether it was clear.
    #[inline]
    pub(crate) fn set(&mut self, number: u64) -> bool {
        let (word, bit) = self.place(number);
        let was_clear = self.words[word] & bit == 0;
        self.words[word] |= bit;
        was_clear
    }

    /// Clears the bit.
    #[inline]
    pub(crate) fn clear(&mut self, number: u64) {
        let (word, bit) = self.place(number);
        self.words[word] &= !bit;
    }

    /// Clears the bits of `from..to`.
    pub(crate) fn clear_range(&mut self, from: u64, to: u64) {
        let to = to.min(from.saturating_add(self.mask + 1));
        let mut number = from;
        while number < to {
            let (word, _) = self.place(number);
            let first = number % 64;
            let count = (64 - first).min(to - number);
            self.words[word] &= !((u64::MAX >> (64 - count)) << first);
            number += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_window_have_bits_of_their_own() {
        let mut ring = BitRing::new(100);
        for start in [0_u64, 90, 1_000_003] {
            assert!((start..start + 100).all(|number| !ring.get(number)));
            assert!(
                (start..start + 100)
                    .step_by(3)
                    .all(|number| ring.set(number))
            );
            for number in start..start + 100 {
                assert_eq!(ring.get(number), (number - start).is_multiple_of(3));
            }
            assert!(!ring.set(start));
            ring.clear_range(start, start + 100);
        }
    }

    #[test]
    fn a_range_is_cleared_and_nothing_beside_it() {
        for (from, to) in [
            (0, 0),
            (5, 6),
            (0, 64),
            (60, 70),
            (1, 127),
            (100, 300),
            (0, 1000),
        ] {
            let mut ring = BitRing::new(256);
            for number in 0..256 {
                ring.set(number);
            }
            ring.clear_range(from, to);
            for number in 0_u64..256 {
                let is_cleared =
                    (from..to).contains(&number) || (from..to).contains(&(number + 256));
                assert_eq!(ring.get(number), !is_cleared, "{from}..{to} {number}");
            }
        }
    }
}
