//! A histogram of times with fixed bounds, which scrapers add up over hosts and time.

/// The upper bounds of the buckets, s: from a switch to a satellite.
const BOUNDS_S: [f64; 11] = [
    0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0,
];

/// A histogram of times.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimeHistogram {
    /// Times up to each bound and above the one before; the last are above all bounds.
    counts: [u64; BOUNDS_S.len() + 1],
    sum_s: f64,
}

impl TimeHistogram {
    /// Adds a time, s; what is no time is left out.
    pub fn add(&mut self, time_s: f64) {
        if !time_s.is_finite() || time_s < 0.0 {
            return;
        }
        let bucket = BOUNDS_S.iter().position(|bound| time_s <= *bound);
        self.counts[bucket.unwrap_or(BOUNDS_S.len())] += 1;
        self.sum_s += time_s;
    }

    /// The number of times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of the times, s.
    #[must_use]
    pub const fn sum_s(&self) -> f64 {
        self.sum_s
    }

    /// The number of times up to each bound, with the bound as text; the last is `+Inf`.
    pub(super) fn cumulative(&self) -> impl Iterator<Item = (String, u64)> {
        let bounds = BOUNDS_S.iter().map(ToString::to_string);
        let bounds = bounds.chain(["+Inf".to_owned()]);
        let counts = self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        bounds.zip(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_end_with_all() {
        let mut times = TimeHistogram::default();
        for time_s in [0.00005, 0.0001, 0.02, 20.0, f64::NAN, -1.0] {
            times.add(time_s);
        }
        let buckets: Vec<(String, u64)> = times.cumulative().collect();
        assert_eq!(buckets[0], ("0.0001".to_owned(), 2));
        assert_eq!(buckets[5], ("0.03".to_owned(), 3));
        assert_eq!(buckets[10], ("10".to_owned(), 3));
        assert_eq!(buckets[11], ("+Inf".to_owned(), 4));
        assert_eq!(times.count(), 4);
    }
}
