//! Distributions of durations, in bounded memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::duration_to_ns;

/// Buckets for each power of two nanoseconds.
const BUCKETS_PER_OCTAVE: u64 = 4;
const BUCKETS: usize = 256;

/// Durations: their count, mean and maximum, and a histogram with four buckets per octave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationHistogram {
    count: u64,
    total_ns: u128,
    max_ns: u64,
    buckets: Box<[u64; BUCKETS]>,
}

/// A summary of durations; a statistic is `None` without a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurationSummary {
    /// The number of samples.
    pub count: u64,
    /// The mean in nanoseconds.
    pub mean_ns: Option<u64>,
    /// The median in nanoseconds, at most a quarter too long.
    pub p50_ns: Option<u64>,
    /// The 99th percentile in nanoseconds, at most a quarter too long.
    pub p99_ns: Option<u64>,
    /// The maximum in nanoseconds; 0 without a sample.
    #[serde(rename = "most_ns")]
    pub max_ns: u64,
}

impl Default for DurationHistogram {
    fn default() -> Self {
        Self {
            count: 0,
            total_ns: 0,
            max_ns: 0,
            buckets: Box::new([0; BUCKETS]),
        }
    }
}

impl DurationHistogram {
    /// Adds a duration of `ns` nanoseconds.
    pub fn record(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
        self.buckets[bucket(ns)] += 1;
    }

    /// The number of durations, those of zero included.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The mean; `None` without a sample.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.total_ns.checked_div(u128::from(self.count))?;
        u64::try_from(mean).ok().map(Duration::from_nanos)
    }

    /// The maximum; zero without a sample.
    #[must_use]
    pub const fn max(&self) -> Duration {
        Duration::from_nanos(self.max_ns)
    }

    /// Its summary.
    #[must_use]
    pub fn summary(&self) -> DurationSummary {
        let ns = |time: Option<Duration>| time.map(duration_to_ns);
        DurationSummary {
            count: self.count,
            mean_ns: ns(self.mean()),
            p50_ns: ns(self.quantile(0.5)),
            p99_ns: ns(self.quantile(0.99)),
            max_ns: self.max_ns,
        }
    }

    /// The duration that `fraction` of the samples do not exceed, at most a quarter too long; `None` without a sample.
    #[must_use]
    pub fn quantile(&self, fraction: f64) -> Option<Duration> {
        let rank = (fraction.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen > 0 && seen >= rank {
                let upper = upper_ns(index).min(self.max_ns);
                return Some(Duration::from_nanos(upper));
            }
        }
        None
    }
}

/// The index of the bucket of `ns`: below 4 `ns` itself, above from its three leading bits.
fn bucket(ns: u64) -> usize {
    if ns < BUCKETS_PER_OCTAVE {
        return ns as usize;
    }
    let octave = u64::from(u64::BITS - 1 - ns.leading_zeros());
    ((octave - 1) * BUCKETS_PER_OCTAVE + (ns >> (octave - 2)) % BUCKETS_PER_OCTAVE) as usize
}

/// The longest duration in bucket `index`.
fn upper_ns(index: usize) -> u64 {
    let index = index as u64;
    if index < BUCKETS_PER_OCTAVE {
        return index;
    }
    let octave = index / BUCKETS_PER_OCTAVE + 1;
    // In 128 bits, because the last bucket ends at 2^64.
    let end = u128::from(BUCKETS_PER_OCTAVE + index % BUCKETS_PER_OCTAVE + 1) << (octave - 2);
    u64::try_from(end - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_samples_there_is_no_quantile_and_no_mean() {
        let histogram = DurationHistogram::default();
        assert_eq!((histogram.mean(), histogram.quantile(0.5)), (None, None));
    }

    proptest! {
        #[test]
        fn a_quantile_is_at_most_a_quarter_too_long(ns: u64) {
            let upper = upper_ns(bucket(ns));
            prop_assert!(upper >= ns);
            prop_assert!(u128::from(upper) * 4 <= u128::from(ns) * 5 + 4);
            let mut histogram = DurationHistogram::default();
            histogram.record(ns);
            prop_assert_eq!(histogram.quantile(0.99), Some(Duration::from_nanos(ns)));
        }
    }
}
