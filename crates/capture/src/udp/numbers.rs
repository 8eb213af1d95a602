//! Loss, reordering and duplication from the numbers that datagrams carry.

use crate::model::DatagramNumbers;

/// Window of numbers below the highest that are tracked; older ones are late. A power of two, a multiple of 64.
const WINDOW: u64 = 4096;
const WORDS: usize = (WINDOW / 64) as usize;
/// Maximum jump within one sequence; a larger one begins another, and its own account.
const MAX_JUMP: u64 = 1 << 20;

/// An account of the numbers of one direction, from the first that was seen.
#[derive(Debug, Clone)]
pub(crate) struct NumberAccount {
    /// One bit for each of the latest numbers.
    seen: Box<[u64; WORDS]>,
    lowest: u64,
    highest: u64,
    received: u64,
    duplicates: u64,
    reordered: u64,
    late: u64,
    /// Numbers of sequences before the present one: expected and received without duplicates.
    before: (u64, u64),
    latest_transit: Option<i64>,
    jitter_ns: f64,
    jitter_n: u64,
}

impl NumberAccount {
    /// An account that begins with this number.
    pub(crate) fn new(first: u64) -> Self {
        let mut account = Self {
            seen: Box::new([0; WORDS]),
            lowest: first,
            highest: first,
            received: 0,
            duplicates: 0,
            reordered: 0,
            late: 0,
            before: (0, 0),
            latest_transit: None,
            jitter_ns: 0.0,
            jitter_n: 0,
        };
        account.push_first(first);
        account
    }

    fn push_first(&mut self, first: u64) {
        (self.lowest, self.highest) = (first, first);
        self.seen.fill(0);
        self.mark(first);
        self.received += 1;
    }

    /// Sets the bit of a number; `true` when it was set.
    #[inline]
    fn mark(&mut self, number: u64) -> bool {
        let word = &mut self.seen[(number / 64) as usize % WORDS];
        let bit = 1 << (number % 64);
        let was = *word & bit != 0;
        *word |= bit;
        was
    }

    /// Distinct numbers of the present sequence.
    fn distinct(&self) -> u64 {
        (self.received - self.duplicates).saturating_sub(self.before.1)
    }

    /// The clock was set: the next transit time is compared with none before.
    pub(crate) fn forget_transit(&mut self) {
        self.latest_transit = None;
    }

    /// Takes in a number.
    #[inline]
    pub(crate) fn push(&mut self, number: u64) {
        if number.abs_diff(self.highest) > MAX_JUMP {
            let expected = self.highest - self.lowest + 1;
            self.before = (self.before.0 + expected, self.before.1 + self.distinct());
            self.push_first(number);
            return;
        }
        self.received += 1;
        if number > self.highest {
            let skipped = (self.highest + 1..number).rev().take(WINDOW as usize);
            for number in skipped {
                self.seen[(number / 64) as usize % WORDS] &= !(1 << (number % 64));
            }
            let word = &mut self.seen[(number / 64) as usize % WORDS];
            *word &= !(1 << (number % 64));
            self.mark(number);
            self.highest = number;
        } else if self.highest - number >= WINDOW {
            self.late += 1;
            self.reordered += 1;
        } else if number < self.lowest || !self.mark(number) {
            self.reordered += 1;
        } else {
            self.duplicates += 1;
        }
        self.lowest = self.lowest.min(number);
    }

    /// Takes in the difference between arrival and departure (RFC 3550 section 6.4.1).
    #[inline]
    pub(crate) fn transit(&mut self, ns: i64) {
        if let Some(latest) = self.latest_transit.replace(ns) {
            self.jitter_ns += (ns.abs_diff(latest) as f64 - self.jitter_ns) / 16.0;
            self.jitter_n += 1;
        }
    }

    /// The account as documents have it.
    pub(crate) fn document(&self) -> DatagramNumbers {
        let expected = self.before.0 + (self.highest - self.lowest + 1);
        DatagramNumbers {
            received: self.received,
            expected,
            lost: expected.saturating_sub(self.received - self.duplicates),
            reordered: self.reordered,
            duplicates: self.duplicates,
            late: self.late,
            jitter_us: (self.jitter_n > 0).then_some(self.jitter_ns / 1e3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(numbers: &[u64]) -> DatagramNumbers {
        let mut account = NumberAccount::new(numbers[0]);
        for number in &numbers[1..] {
            account.push(*number);
        }
        account.document()
    }

    #[test]
    fn losses_reordering_and_duplicates_are_told_apart() {
        let counts = account(&[1, 2, 4, 3, 3, 7, 8]);
        assert_eq!((counts.received, counts.expected, counts.lost), (7, 8, 2));
        assert_eq!((counts.reordered, counts.duplicates), (1, 1));
    }

    #[test]
    fn the_window_forgets_what_it_skips() {
        let mut numbers: Vec<u64> = (0..10_000).collect();
        numbers.extend([15_000, 14_999, 14_999, 20_000, 2]);
        let counts = account(&numbers);
        assert_eq!((counts.duplicates, counts.late), (1, 1));
        assert_eq!(counts.reordered, 2);
        assert_eq!(counts.lost, 20_001 - 10_004);
    }

    #[test]
    fn another_sequence_is_no_loss() {
        let counts = account(&[1, 2, 3, 1 << 40, (1 << 40) + 1]);
        assert_eq!((counts.expected, counts.lost), (5, 0));
    }
}
