//! Whether more data in flight still brings a higher rate.

/// Rounds without growth for the path to count as full.
const ROUNDS: u32 = 3;

/// Looks for a plateau of the delivery rate (section 5.3.1.2).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FullPipe {
    base: u64,
    rounds: u32,
    /// `full_bw_now`: the path is full since the search began.
    pub is_full: bool,
    /// `full_bw_reached`: the path was full once.
    pub was_full: bool,
}

impl FullPipe {
    /// Begins a new search at a rate.
    pub fn search_from(&mut self, bytes_per_s: u64) {
        self.base = bytes_per_s;
        self.rounds = 0;
        self.is_full = false;
    }

    /// Takes the rate at the beginning of a round in which the application did not limit it: growth by a quarter is growth.
    pub fn on_round(&mut self, bytes_per_s: u64) {
        if self.is_full {
            return;
        }
        if bytes_per_s >= self.base.saturating_add(self.base / 4) {
            self.search_from(bytes_per_s);
            return;
        }
        self.rounds += 1;
        self.is_full = self.rounds >= ROUNDS;
        self.was_full |= self.is_full;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rounds_without_a_quarter_more_fill_the_path() {
        let mut pipe = FullPipe::default();
        let full = [100, 200, 240, 249, 250, 260, 300, 310].map(|rate| {
            pipe.on_round(rate);
            pipe.is_full
        });
        assert_eq!(
            full,
            [false, false, false, false, false, false, false, true]
        );
        pipe.search_from(310);
        assert!(!pipe.is_full && pipe.was_full);
    }
}
