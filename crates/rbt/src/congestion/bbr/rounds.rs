//! Round trips counted by what is delivered.

/// Counts round trips: one ends when a packet is acknowledged that left after it began (section 5.5.1).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RoundCounter {
    end_delivered: u64,
    count: u64,
}

impl RoundCounter {
    /// Takes an acknowledgement whose newest packet left when `prior_delivered` bytes had been delivered, of `delivered` now;
    /// `true` when a round begins with it.
    pub fn on_acked(&mut self, prior_delivered: u64, delivered: u64) -> bool {
        let is_start = prior_delivered >= self.end_delivered;
        if is_start {
            self.begin(delivered);
            self.count += 1;
        }
        is_start
    }

    /// A round begins now.
    pub fn begin(&mut self, delivered: u64) {
        self.end_delivered = delivered;
    }

    /// Rounds so far.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_a_packet_that_left_after_it_began() {
        let mut rounds = RoundCounter::default();
        let starts = [(0, 10), (0, 20), (10, 30), (20, 40), (30, 50)]
            .map(|(prior, delivered)| rounds.on_acked(prior, delivered));
        assert_eq!(starts, [true, false, true, false, true]);
        assert_eq!(rounds.count(), 3);
    }
}
