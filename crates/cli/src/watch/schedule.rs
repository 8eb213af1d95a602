//! When each measurement is due. Time is an argument, and so is chance.

use std::time::Duration;

/// The schedule of one measurement: every so often, moved by a random part so that many watchers do not fall into step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WatchSchedule {
    every: Duration,
    jitter: Duration,
    /// The next slot without its jitter, since the start.
    slot: Duration,
    /// The next test, since the start.
    due: Duration,
}

impl WatchSchedule {
    /// A schedule whose first test is due at once.
    pub(super) const fn new(every: Duration, jitter: Duration) -> Self {
        Self {
            every,
            jitter,
            slot: Duration::ZERO,
            due: Duration::ZERO,
        }
    }

    /// The time at which the next test is due, since the start.
    pub(super) const fn due(&self) -> Duration {
        self.due
    }

    /// Goes on after a slot was used or left out at `now`; `chance` lies between 0 and 1. Slots that have passed meanwhile are left out,
    /// not made up for.
    pub(super) fn advance(&mut self, now: Duration, chance: f64) {
        self.slot += self.every;
        if self.slot <= now {
            let passed = (now - self.slot).as_nanos() / self.every.as_nanos().max(1) + 1;
            let passed = u32::try_from(passed).unwrap_or(u32::MAX);
            self.slot = self.slot.saturating_add(self.every.saturating_mul(passed));
        }
        self.due = self.slot + self.jitter.mul_f64(chance.clamp(0.0, 1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn slots_keep_their_places_whatever_the_jitter() {
        let mut schedule = WatchSchedule::new(s(300), s(30));
        assert_eq!(schedule.due(), s(0));
        schedule.advance(s(10), 0.5);
        assert_eq!(schedule.due(), s(315));
        schedule.advance(s(325), 0.0);
        assert_eq!(schedule.due(), s(600));
        schedule.advance(s(610), 1.0);
        assert_eq!(schedule.due(), s(930));
    }

    #[test]
    fn slots_that_a_long_test_took_are_left_out() {
        let mut schedule = WatchSchedule::new(s(60), s(0));
        schedule.advance(s(200), 0.0);
        assert_eq!(schedule.due(), s(240));
        // Exactly at a slot: that one has passed.
        schedule.advance(s(300), 0.0);
        assert_eq!(schedule.due(), s(360));
    }
}
