//! Controlled delay: drops from the head while frames have waited too long for too long.

use std::time::Duration;

use crate::moment::{Moment, whole_ns};

/// The largest frame: with less than this behind it, a frame is never dropped.
const LARGEST: u64 = 1518;

/// CoDel's state.
///
/// Source: RFC 8289 sections 4.4 and 5, decision for decision, in nanoseconds.
#[derive(Debug, Clone)]
pub struct Codel {
    target: u64,
    interval: u64,
    first_above: Option<Moment>,
    dropping: bool,
    drop_next: Moment,
    count: u64,
    last_count: u64,
}

impl Default for Codel {
    /// The RFC's 5 ms and 100 ms.
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_millis(100))
    }
}

impl Codel {
    /// Keeps the wait below `target`, measured over `interval`.
    #[must_use]
    pub fn new(target: Duration, interval: Duration) -> Self {
        Self {
            target: whole_ns(target),
            interval: whole_ns(interval),
            first_above: None,
            dropping: false,
            drop_next: Moment::START,
            count: 0,
            last_count: 0,
        }
    }

    /// Nobody waits any more.
    pub(crate) fn emptied(&mut self) {
        self.first_above = None;
        self.dropping = false;
    }

    /// Whether the head, which waited `wait` and leaves `bytes` behind it, is dropped at `now`.
    pub(crate) fn drops(&mut self, now: Moment, wait: u64, bytes: u64) -> bool {
        let too_long = self.too_long(now, wait, bytes);
        if self.dropping {
            if !too_long {
                self.dropping = false;
                return false;
            }
            if now < self.drop_next {
                return false;
            }
            self.count += 1;
            self.drop_next = self.after(self.drop_next);
            return true;
        }
        if !too_long {
            return false;
        }
        self.dropping = true;
        let again = self.count.saturating_sub(self.last_count);
        let recent = now.ns_since(self.drop_next) < self.interval.saturating_mul(16);
        self.count = if again > 1 && recent { again } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.after(now);
        true
    }

    fn too_long(&mut self, now: Moment, wait: u64, bytes: u64) -> bool {
        if wait < self.target || bytes <= LARGEST {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.plus_ns(self.interval));
                false
            }
            Some(at) => now >= at,
        }
    }

    /// The control law: interval / √count after `at`.
    fn after(&self, at: Moment) -> Moment {
        // The root in 2^-16, so that it has 16 bits behind the point.
        let root = u128::from(self.count)
            .saturating_mul(1 << 32)
            .isqrt()
            .max(1);
        let wait = (u128::from(self.interval) << 16) / root;
        // At least a nanosecond, so that drops do come to an end.
        at.plus_ns(u64::try_from(wait).unwrap_or(u64::MAX).max(1))
    }
}
