//! One-way transit times of datagrams between two hosts whose wall clocks agree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One-way transit times: the receiver's wall clock at arrival less the sender's at departure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TransitTimes {
    /// The number of times.
    pub count: u64,
    /// Their mean, s.
    pub mean_s: f64,
    /// The minimum, s.
    pub min_s: f64,
    /// The maximum, s.
    pub max_s: f64,
    /// The sum of squared differences from the mean, s².
    pub m2: f64,
    /// The minimum since the reading before, s.
    pub recent_min_s: f64,
    /// The maximum since the reading before, s.
    pub recent_max_s: f64,
}

impl TransitTimes {
    /// Adds one time, in seconds.
    ///
    /// Source: Welford, "Note on a method for calculating corrected sums of squares and products", 1962.
    pub fn push(&mut self, seconds: f64) {
        if self.count == 0 {
            (self.min_s, self.max_s) = (seconds, seconds);
        }
        self.count += 1;
        let difference = seconds - self.mean_s;
        self.mean_s += difference / self.count as f64;
        self.m2 += difference * (seconds - self.mean_s);
        self.min_s = self.min_s.min(seconds);
        self.max_s = self.max_s.max(seconds);
    }

    /// The times between `earlier` and this reading, which are those since the reading before.
    ///
    /// The sum of squares is what the earlier part leaves of the whole: Chan, Golub and LeVeque, "Updating formulae and a
    /// pairwise algorithm for computing sample variances", 1979, solved for one of its parts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let count = self.count.saturating_sub(earlier.count);
        if count == 0 {
            return Self::default();
        }
        let (all, before, recent) = (self.count as f64, earlier.count as f64, count as f64);
        let mean_s = (self.mean_s * all - earlier.mean_s * before) / recent;
        let difference = mean_s - earlier.mean_s;
        Self {
            count,
            mean_s,
            min_s: self.recent_min_s,
            max_s: self.recent_max_s,
            m2: (self.m2 - earlier.m2 - difference * difference * before * recent / all).max(0.0),
            recent_min_s: self.recent_min_s,
            recent_max_s: self.recent_max_s,
        }
    }

    /// The sample standard deviation, s; 0 for fewer than two times.
    #[must_use]
    pub fn deviation_s(&self) -> f64 {
        if self.count > 1 {
            (self.m2 / (self.count - 1) as f64).sqrt()
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_an_interval_are_those_between_its_readings() {
        let times = [0.010, 0.012, 0.011, 0.030, 0.020, 0.025];
        let (mut all, mut interval) = (TransitTimes::default(), TransitTimes::default());
        times[..3].iter().for_each(|time| all.push(*time));
        let earlier = all;
        for time in &times[3..] {
            all.push(*time);
            interval.push(*time);
        }
        (all.recent_min_s, all.recent_max_s) = (0.020, 0.030);
        let since = all.since(&earlier);
        assert_eq!((since.count, since.min_s, since.max_s), (3, 0.020, 0.030));
        assert!((since.mean_s - interval.mean_s).abs() < 1e-12);
        assert!((since.deviation_s() - interval.deviation_s()).abs() < 1e-9);
        assert_eq!(all.since(&all).count, 0);
    }
}
