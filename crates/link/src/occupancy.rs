//! Levels over time, such as the length of a queue, in bounded memory.

use serde::{Deserialize, Serialize};

use crate::time::SimTime;

/// Maximum number of slots in a series.
const MAX_SLOTS: usize = 256;
/// The initial width of a slot: 1 ms.
const INITIAL_WIDTH_NS: u64 = 1_000_000;
/// Levels by power of two: 0, 1, 2–3, 4–7, … 2^31 and more.
const BUCKETS: usize = 33;

/// A level over time: its mean and maximum, the time at each level, and a coarse series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupancy {
    level: u64,
    since: SimTime,
    area: u128,
    max: u64,
    time_at_ns: Box<[u64]>,
    width_ns: u64,
    /// The maximum in each slot of `width_ns`.
    series: Vec<u64>,
}

/// A summary of a level over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OccupancySummary {
    /// The level at the end.
    pub level: u64,
    /// The mean since the start, weighted by time; `None` when no time has passed.
    pub mean: Option<f64>,
    /// The maximum.
    #[serde(rename = "most")]
    pub max: u64,
    /// Nanoseconds at levels 0, 1, 2–3, 4–7 and so on by powers of two; the last includes everything above.
    pub time_at_ns: Box<[u64]>,
    /// The width in nanoseconds of a slot of `series`; it doubles whenever there would be more than 256 slots.
    pub width_ns: u64,
    /// The maximum in each slot since the start.
    #[serde(rename = "course")]
    pub series: Vec<u64>,
}

impl Default for Occupancy {
    fn default() -> Self {
        Self {
            level: 0,
            since: SimTime::START,
            area: 0,
            max: 0,
            time_at_ns: Box::new([0; BUCKETS]),
            width_ns: INITIAL_WIDTH_NS,
            series: Vec::new(),
        }
    }
}

impl Occupancy {
    /// Sets the level from `now` on.
    pub fn set(&mut self, now: SimTime, level: u64) {
        self.advance(now);
        self.level = level;
        self.max = self.max.max(level);
        self.mark(now, level);
    }

    /// Accounts for the time until `now`.
    pub(crate) fn advance(&mut self, now: SimTime) {
        let elapsed = now.ns_since(self.since);
        if elapsed == 0 {
            return;
        }
        self.area += u128::from(self.level) * u128::from(elapsed);
        let bucket = (u64::BITS - self.level.leading_zeros()) as usize;
        self.time_at_ns[bucket.min(BUCKETS - 1)] += elapsed;
        // A level of zero needs no mark: slots start at zero.
        if self.level > 0 {
            self.mark(now, self.level);
        }
        self.since = now;
    }

    /// Raises the slots from the last change to `now` to at least `level`.
    fn mark(&mut self, now: SimTime, level: u64) {
        while now.as_ns() / self.width_ns >= MAX_SLOTS as u64 {
            // Every two slots become one that is twice as wide.
            self.series = self
                .series
                .chunks(2)
                .map(|two| two.iter().copied().max().unwrap_or(0))
                .collect();
            self.width_ns = self.width_ns.saturating_mul(2);
        }
        let from = (self.since.min(now).as_ns() / self.width_ns) as usize;
        let to = (now.as_ns() / self.width_ns) as usize;
        if self.series.len() <= to {
            self.series.resize(to + 1, 0);
        }
        for slot in &mut self.series[from..=to] {
            *slot = (*slot).max(level);
        }
    }

    /// The current level.
    #[must_use]
    pub const fn level(&self) -> u64 {
        self.level
    }

    /// Its summary until `now`.
    #[must_use]
    pub fn summary(&self, now: SimTime) -> OccupancySummary {
        let mut until_now = self.clone();
        until_now.advance(now);
        let elapsed = until_now.since.as_ns();
        OccupancySummary {
            level: until_now.level,
            mean: (elapsed > 0).then(|| until_now.area as f64 / elapsed as f64),
            max: until_now.max,
            time_at_ns: until_now.time_at_ns,
            width_ns: until_now.width_ns,
            series: until_now.series,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_weighted_by_time() {
        let mut queue = Occupancy::default();
        queue.set(SimTime::from_ns(1_000_000), 4);
        queue.set(SimTime::from_ns(2_000_000), 1);
        let summary = queue.summary(SimTime::from_ns(4_000_000));
        assert_eq!(summary.mean, Some(1.5));
        assert_eq!(summary.max, 4);
        assert_eq!(
            summary.time_at_ns[..4],
            [1_000_000, 2_000_000, 0, 1_000_000]
        );
        assert_eq!(summary.series, [0, 4, 4, 1, 1]);
    }

    #[test]
    fn the_series_grows_coarser_and_never_long() {
        let mut queue = Occupancy::default();
        for step in 0..1_000_000_u64 {
            queue.set(SimTime::from_ns(step * 100_000_000), step % 7);
        }
        let summary = queue.summary(SimTime::START);
        assert!(summary.series.len() <= MAX_SLOTS);
        assert_eq!(summary.width_ns, INITIAL_WIDTH_NS << 19);
        assert!(summary.series.iter().all(|max| *max == 6));
        queue.set(SimTime::MAX, u64::MAX);
        assert!(queue.summary(SimTime::MAX).series.len() <= MAX_SLOTS);
    }
}
