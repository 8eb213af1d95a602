//! The round-trip time, and the timers of loss detection that follow from it.
//!
//! Source: RFC 9002, sections 5 and 6.

/// The round-trip time before there is a sample (kInitialRtt).
const INITIAL_RTT_NS: u64 = 333_000_000;
/// Maximum round-trip time that can be represented: about two years.
const MAX_RTT_NS: u64 = 1 << 56;

/// Estimates the round-trip time.
#[derive(Debug, Clone, Default)]
pub struct RoundTripTime {
    samples: Option<RttFilters>,
}

#[derive(Debug, Clone, Copy)]
struct RttFilters {
    latest_ns: u64,
    min_ns: u64,
    smoothed_ns: u64,
    variation_ns: u64,
}

impl RoundTripTime {
    /// An estimator without samples.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a sample. `ack_delay_ns` is the time the receiver says it held the acknowledgement back, no more than its maximum.
    pub fn add_sample(&mut self, rtt_ns: u64, ack_delay_ns: u64) {
        let latest = rtt_ns.min(MAX_RTT_NS);
        let Some(filters) = &mut self.samples else {
            self.samples = Some(RttFilters {
                latest_ns: latest,
                min_ns: latest,
                smoothed_ns: latest,
                variation_ns: latest / 2,
            });
            return;
        };
        filters.latest_ns = latest;
        filters.min_ns = filters.min_ns.min(latest);
        // The delay is taken off only where that leaves a possible round-trip time.
        let without_delay = latest.saturating_sub(ack_delay_ns);
        let adjusted = if without_delay >= filters.min_ns {
            without_delay
        } else {
            latest
        };
        let deviation = filters.smoothed_ns.abs_diff(adjusted);
        filters.variation_ns = (3 * filters.variation_ns + deviation) / 4;
        filters.smoothed_ns = (7 * filters.smoothed_ns + adjusted) / 8;
    }

    /// Forgets the minimum, which is then the latest sample: the path may have changed (RFC 9002 section 5.2).
    pub fn reset_min(&mut self) {
        if let Some(filters) = &mut self.samples {
            filters.min_ns = filters.latest_ns;
        }
    }

    /// The latest sample, ns.
    #[must_use]
    pub fn latest_ns(&self) -> Option<u64> {
        self.samples.map(|filters| filters.latest_ns)
    }

    /// The minimum, ns.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        self.samples.map(|filters| filters.min_ns)
    }

    /// The smoothed round-trip time, ns.
    #[must_use]
    pub fn smoothed_ns(&self) -> Option<u64> {
        self.samples.map(|filters| filters.smoothed_ns)
    }

    /// The mean variation, ns.
    #[must_use]
    pub fn variation_ns(&self) -> Option<u64> {
        self.samples.map(|filters| filters.variation_ns)
    }

    /// How long after its departure a packet is lost when a later one was acknowledged, ns: 9/8 of the round-trip time (RFC 9002
    /// section 6.1.2).
    #[must_use]
    pub fn loss_delay_ns(&self, granularity_ns: u64) -> u64 {
        let rtt = self.samples.map_or(INITIAL_RTT_NS, |filters| {
            filters.latest_ns.max(filters.smoothed_ns)
        });
        (rtt + rtt / 8).max(granularity_ns)
    }

    /// The probe timeout without back-off, ns (RFC 9002 section 6.2.1).
    #[must_use]
    pub fn probe_timeout_ns(&self, granularity_ns: u64, max_ack_delay_ns: u64) -> u64 {
        let (smoothed, variation) = self
            .samples
            .map_or((INITIAL_RTT_NS, INITIAL_RTT_NS / 2), |filters| {
                (filters.smoothed_ns, filters.variation_ns)
            });
        smoothed
            .saturating_add((4 * variation).max(granularity_ns))
            .saturating_add(max_ack_delay_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_first_sample_is_the_estimate_and_half_of_it_its_variation() {
        let mut rtt = RoundTripTime::new();
        rtt.add_sample(40 * MS, 10 * MS);
        assert_eq!(rtt.smoothed_ns(), Some(40 * MS));
        assert_eq!(rtt.variation_ns(), Some(20 * MS));
        assert_eq!(rtt.probe_timeout_ns(MS, 25 * MS), 145 * MS);
        assert_eq!(rtt.loss_delay_ns(MS), 45 * MS);
    }

    #[test]
    fn the_receivers_delay_is_taken_off_unless_the_rest_is_below_the_minimum() {
        let mut rtt = RoundTripTime::new();
        rtt.add_sample(40 * MS, 0);
        rtt.add_sample(56 * MS, 8 * MS);
        assert_eq!(rtt.smoothed_ns(), Some(41 * MS));
        rtt.add_sample(41 * MS, 8 * MS);
        assert_eq!(rtt.smoothed_ns(), Some(41 * MS));
        assert_eq!(rtt.min_ns(), Some(40 * MS));
    }

    #[test]
    fn timers_begin_with_a_third_of_a_second_and_end_at_the_granularity() {
        let mut rtt = RoundTripTime::new();
        assert_eq!(rtt.probe_timeout_ns(MS, 0), 999 * MS);
        for _ in 0..100 {
            rtt.add_sample(50_000, 0);
        }
        assert_eq!(rtt.loss_delay_ns(MS), MS);
        assert_eq!(rtt.probe_timeout_ns(MS, 0), 50_000 + MS);
    }

    #[test]
    fn the_minimum_can_be_forgotten() {
        let mut rtt = RoundTripTime::new();
        rtt.add_sample(10 * MS, 0);
        rtt.add_sample(50 * MS, 0);
        rtt.reset_min();
        assert_eq!(rtt.min_ns(), Some(50 * MS));
    }

    proptest! {
        #[test]
        fn the_estimate_lies_between_the_samples(samples in prop::collection::vec(any::<u64>(), 1..50)) {
            let mut rtt = RoundTripTime::new();
            for &sample in &samples {
                rtt.add_sample(sample, 0);
            }
            let all = samples.iter().map(|sample| sample.min(&MAX_RTT_NS));
            let (min, max) = (all.clone().min().copied(), all.max().copied());
            prop_assert_eq!(rtt.min_ns(), min);
            prop_assert!(rtt.smoothed_ns() <= max);
            prop_assert_eq!(rtt.probe_timeout_ns(u64::MAX, u64::MAX), u64::MAX);
        }
    }
}
