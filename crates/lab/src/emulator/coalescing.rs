//! Delivery of several events by one wake-up while many frames pass.
//!
//! A wake-up costs up to 20 µs of a processor (in a virtual machine, whose timers are the hypervisor's), which is longer than a full frame
//! takes at 1 Gbit/s. Network cards of such links coalesce interrupts for the same reason. Virtual time is not affected: deliveries are late
//! by at most [`HOLD_NS`], and their lateness is counted.

/// The period over which frames are counted, ns.
const PERIOD_NS: u64 = 10_000_000;
/// Minimum number of frames, read and delivered, in a period for coalescing in the next: 30 000 a second each way, which bulk traffic at
/// 300 Mbit/s has, and the trains of a measurement do not sustain.
const MIN_FRAMES: u64 = 600;
/// Minimum time between two wake-ups for deliveries while events are coalesced, ns.
const HOLD_NS: u64 = 100_000;

/// The decision whether events are coalesced.
#[derive(Debug)]
pub(super) struct EventCoalescing {
    period_start_ns: u64,
    frames_at_start: u64,
    is_on: bool,
    last_wakeup_ns: u64,
}

impl EventCoalescing {
    /// None yet at monotonic time `now_ns`.
    pub(super) const fn new(now_ns: u64) -> Self {
        Self {
            period_start_ns: now_ns,
            frames_at_start: 0,
            is_on: false,
            last_wakeup_ns: now_ns,
        }
    }

    /// The time, in nanoseconds, at which to wake up for an event that is due at `due_ns`, when `frames` have passed until `now_ns`; `None`
    /// for the time at which it is due.
    pub(super) fn hold_until(&mut self, now_ns: u64, frames: u64, due_ns: u64) -> Option<u64> {
        let elapsed = now_ns.saturating_sub(self.period_start_ns);
        if elapsed >= PERIOD_NS {
            // After a longer pause the rate is that of the whole time since.
            let passed = frames.saturating_sub(self.frames_at_start);
            self.is_on = passed >= MIN_FRAMES.saturating_mul(elapsed / PERIOD_NS);
            self.period_start_ns = now_ns;
            self.frames_at_start = frames;
        }
        let earliest = self.last_wakeup_ns.saturating_add(HOLD_NS);
        (self.is_on && earliest > due_ns).then_some(earliest)
    }

    /// Remembers that what was due at `now_ns` has been delivered.
    pub(super) const fn delivered(&mut self, now_ns: u64) {
        self.last_wakeup_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_coalesced_while_many_frames_pass_and_no_longer() {
        let mut coalescing = EventCoalescing::new(0);
        // A train of 250 frames in a millisecond.
        assert_eq!(coalescing.hold_until(1_000_000, 250, 1_010_000), None);
        assert_eq!(coalescing.hold_until(10_000_000, 250, 10_010_000), None);
        // 1 Gbit/s: each full frame takes 12 µs.
        coalescing.delivered(20_000_000);
        let held = coalescing.hold_until(20_001_000, 1100, 20_012_000);
        assert_eq!(held, Some(20_100_000));
        // Nothing is delivered early, or later than an event that is due later.
        assert_eq!(coalescing.hold_until(20_001_000, 1100, 20_200_000), None);
        // Quiet since.
        assert_eq!(coalescing.hold_until(90_000_000, 1200, 90_012_000), None);
    }
}
