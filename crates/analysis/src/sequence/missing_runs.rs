//! The runs of missing numbers.

use caudal_core::sequence::{LossPeriods, LossRun, LossRuns};

/// The runs of missing numbers, counted in the order of the numbers.
#[derive(Debug, Clone)]
pub(super) struct MissingRuns {
    /// All missing numbers.
    pub(super) total: u64,
    count: u64,
    max: u64,
    by_length: [u64; 64],
    /// The length of the run at the end, which may continue.
    open: u64,
    /// The number that is counted next.
    next: u64,
    periods: LossPeriods,
}

impl MissingRuns {
    pub(super) fn new() -> Self {
        Self {
            total: 0,
            count: 0,
            max: 0,
            by_length: [0; 64],
            open: 0,
            next: 0,
            periods: LossPeriods::default(),
        }
    }

    /// Counts the next `bits` numbers, received where a bit of `word` is set.
    #[inline]
    pub(super) fn count_word(&mut self, word: u64, bits: u32) {
        if word == u64::MAX && self.open == 0 {
            self.next += u64::from(bits);
            return;
        }
        let (mut word, mut left) = (word, bits);
        while left > 0 {
            let lost = word.trailing_zeros().min(left);
            self.extend(u64::from(lost));
            word = word.checked_shr(lost).unwrap_or(0);
            left -= lost;
            let received = word.trailing_ones().min(left);
            if received > 0 {
                self.close();
            }
            self.next += u64::from(received);
            word = word.checked_shr(received).unwrap_or(0);
            left -= received;
        }
    }

    /// Adds missing numbers to the run at the end.
    pub(super) fn extend(&mut self, missing: u64) {
        self.total += missing;
        self.open += missing;
        self.next += missing;
    }

    fn close(&mut self) {
        if self.open > 0 {
            self.count += 1;
            self.max = self.max.max(self.open);
            self.by_length[self.open.ilog2() as usize] += 1;
            self.periods.push(LossRun {
                first: self.next - self.open,
                count: self.open,
            });
            self.open = 0;
        }
    }

    /// The runs so far: their lengths, and the longest in their places.
    pub(super) fn runs(mut self) -> (LossRuns, LossPeriods) {
        self.close();
        let longest = self.by_length.iter().rposition(|&count| count > 0);
        let runs = LossRuns {
            count: self.count,
            mean: (self.count > 0).then(|| self.total as f64 / self.count as f64),
            max: self.max,
            histogram: self.by_length[..longest.map_or(0, |k| k + 1)].to_vec(),
        };
        (runs, self.periods)
    }
}
