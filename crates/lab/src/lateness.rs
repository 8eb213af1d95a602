//! The lateness of the emulator's deliveries.

use std::time::Duration;

use caudal_link::lab_report::DeliveryLateness;
use caudal_stats::LatencyHistogram;

/// Minimum lateness of a delivery to count as a stall.
///
/// At 10 Mbit/s eight full frames arrive in this time, which common queues absorb. Hosts that receive nothing for longer
/// and then everything at once behave differently from hosts on a wire.
const STALL: Duration = Duration::from_millis(10);

/// The lateness of deliveries, relative to the time that the link model gives.
#[derive(Debug, Default)]
pub(crate) struct LatenessHistogram {
    histogram: LatencyHistogram,
    stalls: u64,
}

impl LatenessHistogram {
    /// Adds a delivery that was `ns` nanoseconds late.
    pub(crate) fn record(&mut self, ns: u64) {
        self.histogram.record_ns(ns);
        if ns > STALL.as_nanos() as u64 {
            self.stalls += 1;
        }
    }

    /// Its summary, with the number of frames that were never read.
    pub(crate) fn summary(&self, unread: u64) -> DeliveryLateness {
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        DeliveryLateness {
            deliveries: self.histogram.n(),
            p50_us: us(self.histogram.quantile_ns(0.5)),
            p99_us: us(self.histogram.quantile_ns(0.99)),
            max_us: us(self.histogram.max_ns()),
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
