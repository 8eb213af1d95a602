//! How much was waiting, over time, in bounded memory.

use serde::Serialize;

use crate::moment::Moment;

/// Points a series keeps at most.
const POINTS: usize = 256;
/// The first width of a point: 1 ms.
const FIRST_WIDTH_NS: u64 = 1_000_000;
/// Levels by power of two: 0, 1, 2–3, 4–7, … 2^31 and more.
const BUCKETS: usize = 33;

/// A level over time: mean, most, how long it was how high, and a coarse course.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "Shown")]
pub struct Occupancy {
    level: u64,
    since: Moment,
    area: u128,
    most: u64,
    time_at_ns: Box<[u64]>,
    width_ns: u64,
    highest: Vec<u64>,
}

/// What is written of it.
#[derive(Serialize)]
struct Shown {
    level: u64,
    mean: Option<f64>,
    most: u64,
    time_at_ns: Box<[u64]>,
    width_ns: u64,
    course: Vec<u64>,
}

impl From<Occupancy> for Shown {
    fn from(occupancy: Occupancy) -> Self {
        Self {
            level: occupancy.level,
            mean: occupancy.mean(),
            most: occupancy.most,
            time_at_ns: occupancy.time_at_ns,
            width_ns: occupancy.width_ns,
            course: occupancy.highest,
        }
    }
}

impl Default for Occupancy {
    fn default() -> Self {
        Self {
            level: 0,
            since: Moment::START,
            area: 0,
            most: 0,
            time_at_ns: Box::new([0; BUCKETS]),
            width_ns: FIRST_WIDTH_NS,
            highest: Vec::new(),
        }
    }
}

impl Occupancy {
    /// The level is `level` from `now` on.
    pub fn change(&mut self, now: Moment, level: u64) {
        self.pass(now);
        self.level = level;
        self.most = self.most.max(level);
        self.mark(now, level);
    }

    /// Accounts for the time until `now`.
    pub(crate) fn pass(&mut self, now: Moment) {
        let elapsed = now.ns_since(self.since);
        if elapsed == 0 {
            return;
        }
        self.area += u128::from(self.level) * u128::from(elapsed);
        let bucket = (u64::BITS - self.level.leading_zeros()) as usize;
        self.time_at_ns[bucket.min(BUCKETS - 1)] += elapsed;
        // A level of zero needs no mark: points that were not marked read zero.
        if self.level > 0 {
            self.mark(now, self.level);
        }
        self.since = now;
    }

    /// The points from the last change to `now` were at least `level` high.
    fn mark(&mut self, now: Moment, level: u64) {
        while now.ns() / self.width_ns >= POINTS as u64 {
            // Every two points become one that is twice as wide.
            self.highest = self
                .highest
                .chunks(2)
                .map(|two| two.iter().copied().max().unwrap_or(0))
                .collect();
            self.width_ns = self.width_ns.saturating_mul(2);
        }
        let from = (self.since.min(now).ns() / self.width_ns) as usize;
        let to = (now.ns() / self.width_ns) as usize;
        if self.highest.len() <= to {
            self.highest.resize(to + 1, 0);
        }
        for point in &mut self.highest[from..=to] {
            *point = (*point).max(level);
        }
    }

    /// The level now.
    #[must_use]
    pub const fn level(&self) -> u64 {
        self.level
    }

    /// The mean over the time since the start, weighted by time; `None` when no time passed.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let elapsed = self.since.ns();
        (elapsed > 0).then(|| self.area as f64 / elapsed as f64)
    }

    /// The highest level there was.
    #[must_use]
    pub const fn most(&self) -> u64 {
        self.most
    }

    /// Nanoseconds at levels 0, 1, 2–3, 4–7 and so on by powers of two; the last holds all above.
    #[must_use]
    pub fn time_at_ns(&self) -> &[u64] {
        &self.time_at_ns
    }

    /// The width of a point of [`Self::course`] in nanoseconds; it doubles whenever the course would outgrow 256 points.
    #[must_use]
    pub const fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// The highest level in each stretch of [`Self::width_ns`] since the start.
    #[must_use]
    pub fn course(&self) -> &[u64] {
        &self.highest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_weighted_by_time() {
        let mut queue = Occupancy::default();
        queue.change(Moment::from_ns(1_000_000), 4);
        queue.change(Moment::from_ns(2_000_000), 1);
        queue.pass(Moment::from_ns(4_000_000));
        assert_eq!(queue.mean(), Some(1.5));
        assert_eq!(queue.most(), 4);
        assert_eq!(
            queue.time_at_ns()[..4],
            [1_000_000, 2_000_000, 0, 1_000_000]
        );
        assert_eq!(queue.course(), [0, 4, 4, 1, 1]);
    }

    #[test]
    fn the_course_grows_coarser_and_never_long() {
        let mut queue = Occupancy::default();
        for step in 0..1_000_000_u64 {
            queue.change(Moment::from_ns(step * 100_000_000), step % 7);
        }
        assert!(queue.course().len() <= POINTS);
        assert_eq!(queue.width_ns(), FIRST_WIDTH_NS << 19);
        assert!(queue.course().iter().all(|highest| *highest == 6));
        queue.change(Moment::from_ns(u64::MAX), u64::MAX);
        assert!(queue.course().len() <= POINTS);
        assert!(serde_json::to_value(&queue).is_ok());
    }
}
