//! The minimum round-trip time, and when to look for it.

/// `MinRTTFilterLen`: the minimum is taken over the last 10 s.
const FILTER_NS: u64 = 10_000_000_000;
/// `ProbeRTTInterval`: a minimum not confirmed for 5 s is probed.
const PROBE_INTERVAL_NS: u64 = 5_000_000_000;

/// The minimum round-trip time of the path (section 5.3.4.3).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MinRttFilter {
    min: Option<(u64, u64)>,
    probed: Option<(u64, u64)>,
    /// Whether it is time to probe.
    pub is_probe_due: bool,
}

impl MinRttFilter {
    /// The minimum, ns.
    pub fn min_ns(&self) -> Option<u64> {
        self.min.map(|(min, _)| min)
    }

    /// Takes the sample of an acknowledgement, when it gives one.
    pub fn on_acked(&mut self, now_ns: u64, rtt_ns: Option<u64>) {
        self.is_probe_due = self
            .probed
            .is_some_and(|(_, since)| now_ns > since.saturating_add(PROBE_INTERVAL_NS));
        if let Some(rtt) = rtt_ns
            && (self.is_probe_due || self.probed.is_none_or(|(min, _)| rtt < min))
        {
            self.probed = Some((rtt, now_ns));
        }
        let is_old = self
            .min
            .is_none_or(|(_, since)| now_ns > since.saturating_add(FILTER_NS));
        if let Some((probed, _)) = self.probed
            && (is_old || self.min.is_some_and(|(min, _)| probed < min))
        {
            self.min = self.probed;
        }
    }

    /// The minimum was probed.
    pub fn on_probed(&mut self, now_ns: u64) {
        if let Some((_, since)) = &mut self.probed {
            *since = now_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const MS: u64 = 1_000_000;

    #[test]
    fn a_minimum_is_probed_after_five_seconds_and_forgotten_after_ten() {
        let mut filter = MinRttFilter::default();
        filter.on_acked(0, Some(50 * MS));
        filter.on_acked(5 * S, Some(60 * MS));
        assert!(!filter.is_probe_due);
        filter.on_acked(5 * S + 1, Some(60 * MS));
        assert!(filter.is_probe_due);
        assert_eq!(filter.min_ns(), Some(50 * MS));
        filter.on_acked(10 * S + 1, Some(60 * MS));
        assert_eq!(filter.min_ns(), Some(60 * MS));
    }

    #[test]
    fn a_lower_sample_puts_the_probe_off() {
        let mut filter = MinRttFilter::default();
        filter.on_acked(0, Some(50 * MS));
        filter.on_acked(4 * S, Some(49 * MS));
        filter.on_acked(8 * S, Some(55 * MS));
        assert!(!filter.is_probe_due);
    }
}
