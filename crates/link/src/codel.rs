//! CoDel (controlled delay): drops from the head while the queueing delay has been too long for too long.

use std::time::Duration;

use crate::time::{SimTime, duration_to_ns};

/// The length of a full frame: a frame with no more than this behind it is never dropped.
const MAX_FRAME_BYTES: u64 = 1518;

/// The state of CoDel, in nanoseconds.
///
/// Source: RFC 8289 sections 4.4 and 5.
#[derive(Debug, Clone)]
pub struct Codel {
    target_ns: u64,
    interval_ns: u64,
    first_above: Option<SimTime>,
    dropping: bool,
    drop_next: SimTime,
    count: u64,
    last_count: u64,
}

impl Default for Codel {
    /// The target of 5 ms and the interval of 100 ms of the RFC.
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_millis(100))
    }
}

impl Codel {
    /// CoDel with a `target` for the queueing delay, observed over `interval`.
    #[must_use]
    pub fn new(target: Duration, interval: Duration) -> Self {
        Self {
            target_ns: duration_to_ns(target),
            interval_ns: duration_to_ns(interval),
            first_above: None,
            dropping: false,
            drop_next: SimTime::START,
            count: 0,
            last_count: 0,
        }
    }

    /// Notes that the queue is empty.
    pub(crate) fn on_empty(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// Decides whether the head, which waited `wait_ns` and leaves `bytes` behind it, is dropped at `now`.
    pub(crate) fn should_drop(&mut self, now: SimTime, wait_ns: u64, bytes: u64) -> bool {
        let is_above = self.is_above_target(now, wait_ns, bytes);
        if self.dropping {
            if !is_above {
                self.dropping = false;
                return false;
            }
            if now < self.drop_next {
                return false;
            }
            self.count += 1;
            self.drop_next = self.control_law(self.drop_next);
            return true;
        }
        if !is_above {
            return false;
        }
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_recent = now.ns_since(self.drop_next) < self.interval_ns.saturating_mul(16);
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
        true
    }

    fn is_above_target(&mut self, now: SimTime, wait_ns: u64, bytes: u64) -> bool {
        if wait_ns < self.target_ns || bytes <= MAX_FRAME_BYTES {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.plus_ns(self.interval_ns));
                false
            }
            Some(at) => now >= at,
        }
    }

    /// The time of the next drop: interval / √count after `at`.
    fn control_law(&self, at: SimTime) -> SimTime {
        // The square root with 16 fractional bits.
        let root = u128::from(self.count)
            .saturating_mul(1 << 32)
            .isqrt()
            .max(1);
        let gap_ns = (u128::from(self.interval_ns) << 16) / root;
        // At least a nanosecond, so that dropping ends.
        at.plus_ns(u64::try_from(gap_ns).unwrap_or(u64::MAX).max(1))
    }
}
