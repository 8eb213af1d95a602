//! Round-trip time estimation and the retransmission timeout.

/// Minimum that the timeout adds to the smoothed round-trip time.
pub(crate) const RTO_MIN_NS: u64 = 200_000_000;
/// The timeout before the first sample (RFC 6298 section 2.1).
pub(crate) const RTO_INITIAL_NS: u64 = 1_000_000_000;
/// Maximum timeout.
pub(crate) const RTO_MAX_NS: u64 = 120_000_000_000;
/// The largest sample, which keeps sums from overflowing.
const MAX_SAMPLE_NS: u64 = 3_600_000_000_000;

/// The estimator of RFC 6298 as in Linux: the variation is the maximum deviation over a round trip and decays slowly, and
/// the minimum of 200 ms applies to the variation, not to the timeout.
///
/// Source: `tcp_rtt_estimator()` in Linux net/ipv4/tcp_input.c.
#[derive(Debug, Clone, Default)]
pub(crate) struct RttEstimator {
    /// Eight times the smoothed round-trip time.
    smoothed_8: i64,
    /// Four times the mean deviation.
    deviation_4: i64,
    /// The maximum of `deviation_4` in this round trip.
    max_deviation_4: i64,
    variation: i64,
    /// The sequence number at which this round trip ends.
    round_end: u64,
    min_ns: Option<u64>,
}

impl RttEstimator {
    /// Takes a sample, when everything before `acknowledged` has been acknowledged and everything before `next` sent.
    pub(crate) fn sample(&mut self, ns: u64, acknowledged: u64, next: u64) {
        let min_variation = RTO_MIN_NS as i64;
        let sample = ns.clamp(1, MAX_SAMPLE_NS) as i64;
        if self.smoothed_8 == 0 {
            self.smoothed_8 = sample << 3;
            self.deviation_4 = sample << 1;
            self.variation = self.deviation_4.max(min_variation);
            self.max_deviation_4 = self.variation;
            self.round_end = next;
            return;
        }
        let error = sample - (self.smoothed_8 >> 3);
        self.smoothed_8 += error;
        let mut change = error.abs() - (self.deviation_4 >> 2);
        if error < 0 && change > 0 {
            // A shorter round trip is no reason for a much longer timeout.
            change >>= 3;
        }
        self.deviation_4 += change;
        if self.deviation_4 > self.max_deviation_4 {
            self.max_deviation_4 = self.deviation_4;
            self.variation = self.variation.max(self.max_deviation_4);
        }
        if acknowledged > self.round_end {
            if self.max_deviation_4 < self.variation {
                self.variation -= (self.variation - self.max_deviation_4) >> 2;
            }
            self.round_end = next;
            self.max_deviation_4 = min_variation;
        }
    }

    /// Updates the minimum round-trip time.
    pub(crate) fn update_min(&mut self, ns: u64) {
        let ns = ns.max(1);
        self.min_ns = Some(self.min_ns.map_or(ns, |min| min.min(ns)));
    }

    /// The minimum round-trip time; `None` before the first sample.
    pub(crate) const fn min_ns(&self) -> Option<u64> {
        self.min_ns
    }

    /// The smoothed round-trip time; `None` before the first sample.
    pub(crate) fn smoothed_ns(&self) -> Option<u64> {
        (self.smoothed_8 > 0).then_some((self.smoothed_8 >> 3) as u64)
    }

    /// The timeout without backoff.
    pub(crate) fn timeout_ns(&self) -> u64 {
        match self.smoothed_ns() {
            Some(smoothed) => (smoothed + self.variation.max(0) as u64).min(RTO_MAX_NS),
            None => RTO_INITIAL_NS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_constant_round_trip_time_gives_a_timeout_of_200_ms_more() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.timeout_ns(), RTO_INITIAL_NS);
        for round in 0..100 {
            rtt.sample(20 * MS, round + 1, round + 2);
        }
        assert_eq!(rtt.smoothed_ns(), Some(20 * MS));
        assert_eq!(rtt.timeout_ns(), 220 * MS);
    }

    #[test]
    fn the_first_sample_gives_a_timeout_of_three_times_itself_if_that_is_more() {
        // RFC 6298 section 2.2: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4·RTTVAR.
        let mut rtt = RttEstimator::default();
        rtt.sample(500 * MS, 0, 1);
        assert_eq!(rtt.timeout_ns(), 1500 * MS);
    }

    #[test]
    fn extreme_samples_keep_the_timeout_in_range() {
        let mut rtt = RttEstimator::default();
        for ns in [u64::MAX, 0, u64::MAX, 1, 1, u64::MAX] {
            rtt.sample(ns, ns, ns);
            rtt.update_min(ns);
            assert!(rtt.timeout_ns() <= RTO_MAX_NS);
        }
        assert_eq!(rtt.min_ns(), Some(1));
    }
}
