//! Acknowledgements that arrive in bursts.

/// Round trips for which a burst is remembered, after Startup.
const FILTER_ROUNDS: u64 = 10;

/// `extra_acked`: the bytes acknowledged beyond what the bandwidth explains (section 5.5.9).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AckAggregation {
    start_ns: u64,
    acked: u64,
    /// The maximum of this half of the filter, and that of the half before.
    current: u64,
    previous: u64,
    half_began: u64,
}

impl AckAggregation {
    /// The bytes to be in flight in addition.
    pub fn extra(&self) -> u64 {
        self.current.max(self.previous)
    }

    /// Sending begins again after idleness.
    pub fn restart(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
        self.acked = 0;
    }

    /// Takes `bytes` acknowledged in `round`, at a bandwidth in bytes a second; a burst is at most a `window`. In Startup, before
    /// the path was full, one round is remembered.
    pub fn on_acked(
        &mut self,
        now_ns: u64,
        bytes: u64,
        bytes_per_s: u64,
        window: u64,
        (round, was_full): (u64, bool),
    ) {
        let elapsed = u128::from(now_ns.saturating_sub(self.start_ns));
        let expected = u128::from(bytes_per_s) * elapsed / 1_000_000_000;
        let mut expected = u64::try_from(expected).unwrap_or(u64::MAX);
        if self.acked <= expected {
            self.restart(now_ns);
            expected = 0;
        }
        self.acked = self.acked.saturating_add(bytes);
        let half = if was_full { FILTER_ROUNDS / 2 } else { 1 };
        if round.saturating_sub(self.half_began) >= half {
            self.previous = if was_full { self.current } else { 0 };
            self.current = 0;
            self.half_began = round;
        }
        let extra = self.acked.saturating_sub(expected).min(window);
        self.current = self.current.max(extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_burst_beyond_the_bandwidth_is_remembered_for_ten_rounds() {
        let mut aggregation = AckAggregation::default();
        // 1 MB/s: 1000 bytes each millisecond, then 20 000 at once.
        for ms in 1..20 {
            aggregation.on_acked(ms * MS, 1000, 1_000_000, 100_000, (1, true));
        }
        assert!(aggregation.extra() <= 1000);
        aggregation.on_acked(20 * MS, 20_000, 1_000_000, 100_000, (2, true));
        let extra = aggregation.extra();
        assert!((19_000..=21_000).contains(&extra), "{extra}");
        for round in 3..7 {
            aggregation.on_acked((round * 50) * MS, 1000, 1_000_000, 100_000, (round, true));
        }
        assert_eq!(aggregation.extra(), extra);
        for round in 7..30 {
            aggregation.on_acked((round * 50) * MS, 1000, 1_000_000, 100_000, (round, true));
        }
        assert!(aggregation.extra() <= 2000);
    }
}
