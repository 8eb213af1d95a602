//! The lateness of the emulator's deliveries.

use std::time::Duration;

use caudal_link::lab_report::DeliveryLateness;
use hdrhistogram::Histogram;

/// Minimum lateness of a delivery to count as a stall.
///
/// At 10 Mbit/s eight full frames arrive in this time, which common queues absorb. Hosts that receive nothing for longer
/// and then everything at once behave differently from hosts on a wire.
const STALL: Duration = Duration::from_millis(10);

/// The largest lateness in the histogram in nanoseconds, about eighteen minutes.
const MAX_NS: u64 = 1 << 40;

/// The lateness of deliveries, relative to the time that the link model gives.
#[derive(Debug)]
pub(crate) struct LatenessHistogram {
    histogram: Histogram<u64>,
    stalls: u64,
}

impl Default for LatenessHistogram {
    fn default() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, MAX_NS, 2).expect("these bounds are allowed"),
            stalls: 0,
        }
    }
}

impl LatenessHistogram {
    /// Adds a delivery that was `ns` nanoseconds late.
    pub(crate) fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        if ns > STALL.as_nanos() as u64 {
            self.stalls += 1;
        }
    }

    /// Its summary, with the number of frames that were never read.
    pub(crate) fn summary(&self, unread: u64) -> DeliveryLateness {
        let us = |ns: u64| ns as f64 / 1e3;
        let at = |percent: f64| us(self.histogram.value_at_quantile(percent / 100.0));
        let has_samples = !self.histogram.is_empty();
        DeliveryLateness {
            deliveries: self.histogram.len(),
            p50_us: has_samples.then(|| at(50.0)),
            p99_us: has_samples.then(|| at(99.0)),
            max_us: has_samples.then(|| us(self.histogram.max())),
            stalls: self.stalls,
            unread,
            must_repeat: self.stalls > 0 || unread > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_deliveries_there_are_no_statistics() {
        let summary = LatenessHistogram::default().summary(0);
        assert_eq!(
            (summary.deliveries, summary.max_us, summary.must_repeat),
            (0, None, false)
        );
    }

    #[test]
    fn one_stall_among_many_deliveries_requires_a_repetition() {
        let mut lateness = LatenessHistogram::default();
        for _ in 0..10_000 {
            lateness.record(40_000);
        }
        assert!(!lateness.summary(0).must_repeat);
        lateness.record(10_000_001);
        let summary = lateness.summary(0);
        assert!(summary.must_repeat);
        assert_eq!(summary.stalls, 1);
        assert!((39.0..42.0).contains(&summary.p99_us.unwrap()));
        assert!(summary.max_us.unwrap() >= 10_000.0);
        assert!(LatenessHistogram::default().summary(1).must_repeat);
    }
}
