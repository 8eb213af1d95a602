//! The times at which the counters of a test's flows are read.

use std::time::Duration;

/// The times after the start at which a test's counters are read: at every interval, restarted at
/// the end of the warm-up, and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    interval: Duration,
    omit: Duration,
    total: Option<Duration>,
}

impl Ticks {
    /// Ticks every `interval`, after a warm-up of `omit`, until `total` (which includes the warm-up); without end
    /// when `total` is `None`.
    #[must_use]
    pub const fn new(interval: Duration, omit: Duration, total: Option<Duration>) -> Self {
        Self {
            interval,
            omit,
            total,
        }
    }

    /// The time of tick number `tick` after the start; `None` when the test is over by then.
    #[must_use]
    pub fn at(&self, tick: u64) -> Option<Duration> {
        let interval = self.interval.as_nanos().max(1);
        let omit = self.omit.as_nanos();
        let warm = omit.div_ceil(interval);
        let nth = u128::from(tick);
        let at = if nth <= warm {
            (nth * interval).min(omit)
        } else {
            omit + (nth - warm) * interval
        };
        let before = if nth <= warm { 0 } else { at - interval };
        let at = match self.total {
            Some(total) if tick > 0 && before >= total.as_nanos() => return None,
            Some(total) => at.min(total.as_nanos()),
            None => at,
        };
        u64::try_from(at).ok().map(Duration::from_nanos)
    }

    /// The number of the last tick that is due `elapsed` after the start.
    #[must_use]
    pub fn last_due(&self, elapsed: Duration) -> u64 {
        let interval = self.interval.as_nanos().max(1);
        let omit = self.omit.as_nanos();
        let at = match self.total {
            Some(total) => elapsed.min(total),
            None => elapsed,
        };
        let (at, is_end) = (at.as_nanos(), self.total.is_some_and(|total| at >= total));
        let last = match at.checked_sub(omit) {
            // The last interval may be shorter than the others.
            Some(measured) if is_end => omit.div_ceil(interval) + measured.div_ceil(interval),
            Some(measured) => omit.div_ceil(interval) + measured / interval,
            None => at / interval,
        };
        u64::try_from(last).unwrap_or(u64::MAX)
    }

    /// The tick at the end of the warm-up: 0 when there is none.
    #[must_use]
    pub fn first_measured(&self) -> u64 {
        let warm = self
            .omit
            .as_nanos()
            .div_ceil(self.interval.as_nanos().max(1));
        u64::try_from(warm).unwrap_or(u64::MAX)
    }

    /// The duration of the test, warm-up included; `None` when it ends by bytes.
    #[must_use]
    pub const fn total(&self) -> Option<Duration> {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(interval: f64, omit: f64, time: f64) -> Vec<f64> {
        let omit = Duration::from_secs_f64(omit);
        let total = Some(omit + Duration::from_secs_f64(time));
        let ticks = Ticks::new(Duration::from_secs_f64(interval), omit, total);
        (0..20)
            .map_while(|tick| ticks.at(tick))
            .map(|at| at.as_secs_f64())
            .collect()
    }

    #[test]
    fn flows_are_read_every_interval_counted_from_the_end_of_the_warm_up() {
        assert_eq!(seconds(1.0, 0.0, 2.5), [0.0, 1.0, 2.0, 2.5]);
        assert_eq!(seconds(1.0, 1.5, 2.5), [0.0, 1.0, 1.5, 2.5, 3.5, 4.0]);
        assert_eq!(seconds(1.0, 0.0, 2.0), [0.0, 1.0, 2.0]);
    }

    #[test]
    fn the_last_tick_that_is_due_is_the_last_one_before() {
        let ms = Duration::from_millis;
        for (interval, omit, total) in [(1000, 0, None), (300, 700, None), (300, 700, Some(2000))] {
            let ticks = Ticks::new(ms(interval), ms(omit), total.map(ms));
            for elapsed in (0..5000).map(ms) {
                let is_due = |tick: &u64| ticks.at(*tick).is_some_and(|at| at <= elapsed);
                let last = (0..100).take_while(is_due).last().unwrap();
                assert_eq!(ticks.last_due(elapsed), last, "{ticks:?} {elapsed:?}");
            }
        }
        assert!(Ticks::new(Duration::ZERO, Duration::MAX, None).last_due(Duration::MAX) > 0);
    }

    #[test]
    fn what_is_measured_begins_at_the_tick_that_ends_the_warm_up() {
        let ticks = |omit| Ticks::new(Duration::from_secs(1), Duration::from_millis(omit), None);
        assert_eq!(
            [0, 1000, 1500].map(|omit| ticks(omit).first_measured()),
            [0, 1, 2]
        );
        assert_eq!(ticks(0).at(1_000_000), Some(Duration::from_secs(1_000_000)));
    }
}
