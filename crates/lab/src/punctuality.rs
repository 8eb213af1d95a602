//! How late the emulator was, told by itself.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// A delivery later than this means that the machine stood still too long.
///
/// At 10 Mbit/s eight full frames come in this time, which no common queue minds; hosts that were silent for longer and
/// then get everything at once behave otherwise than on a wire.
pub const STALL: Duration = Duration::from_millis(10);

/// The longest lateness that is told apart, some eighteen minutes.
const LONGEST: u64 = 1 << 40;

/// How late frames were delivered, against the time the link model gave them.
#[derive(Debug)]
pub struct Lateness {
    histogram: Histogram<u64>,
    stalls: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, LONGEST, 2).expect("these bounds are allowed"),
            stalls: 0,
        }
    }
}

impl Lateness {
    /// One frame was delivered `ns` nanoseconds late.
    pub fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        if ns > STALL.as_nanos() as u64 {
            self.stalls += 1;
        }
    }

    /// What is told of it.
    #[must_use]
    pub fn told(&self, unread: u64) -> Punctuality {
        let us = |ns: u64| ns as f64 / 1e3;
        let at = |percent: f64| us(self.histogram.value_at_quantile(percent / 100.0));
        let some = !self.histogram.is_empty();
        Punctuality {
            deliveries: self.histogram.len(),
            p50_us: some.then(|| at(50.0)),
            p99_us: some.then(|| at(99.0)),
            max_us: some.then(|| us(self.histogram.max())),
            stalls: self.stalls,
            unread,
            must_repeat: self.stalls > 0 || unread > 0,
        }
    }
}

/// How punctual the emulator was in some time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Punctuality {
    /// Frames delivered.
    pub deliveries: u64,
    /// The lateness half of them did not exceed, in microseconds; absent without a delivery.
    pub p50_us: Option<f64>,
    /// The lateness 99 % of them did not exceed, in microseconds; absent without a delivery.
    pub p99_us: Option<f64>,
    /// The largest lateness, in microseconds; absent without a delivery.
    pub max_us: Option<f64>,
    /// Frames delivered more than 10 ms late.
    pub stalls: u64,
    /// Frames that the kernel dropped before the emulator could read them.
    pub unread: u64,
    /// Whether the machine stood still so long that a result of this time must be taken again.
    pub must_repeat: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_delivered_is_told_without_numbers() {
        let told = Lateness::default().told(0);
        assert_eq!(
            (told.deliveries, told.max_us, told.must_repeat),
            (0, None, false)
        );
    }

    #[test]
    fn one_late_frame_among_many_asks_for_a_repetition() {
        let mut lateness = Lateness::default();
        for _ in 0..10_000 {
            lateness.record(40_000);
        }
        assert!(!lateness.told(0).must_repeat);
        lateness.record(10_000_001);
        let told = lateness.told(0);
        assert!(told.must_repeat);
        assert_eq!(told.stalls, 1);
        assert!((39.0..42.0).contains(&told.p99_us.unwrap()));
        assert!(told.max_us.unwrap() >= 10_000.0);
        assert!(Lateness::default().told(1).must_repeat);
    }
}
