//! Distributions of durations, in bounded memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use caudal_stats::{log_bucket, log_bucket_range, quantile_bucket};

use crate::time::duration_to_ns;

/// Four buckets for each power of two nanoseconds.
const SUB_BITS: u32 = 2;
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
        self.buckets[log_bucket(ns, SUB_BITS)] += 1;
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

    /// The duration that `fraction` of the samples do not exceed, at most a quarter too long; `None` without a sample or for a
    /// fraction outside 0 to 1.
    #[must_use]
    pub fn quantile(&self, fraction: f64) -> Option<Duration> {
        let counts = self.buckets.iter().copied();
        let bucket = quantile_bucket(counts, self.count, fraction)?;
        let (_, upper) = log_bucket_range(bucket, SUB_BITS);
        Some(Duration::from_nanos(upper.min(self.max_ns)))
    }
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
            let (_, upper) = log_bucket_range(log_bucket(ns, SUB_BITS), SUB_BITS);
            prop_assert!(upper >= ns);
            prop_assert!(u128::from(upper) * 4 <= u128::from(ns) * 5 + 4);
            let mut histogram = DurationHistogram::default();
            histogram.record(ns);
            prop_assert_eq!(histogram.quantile(0.99), Some(Duration::from_nanos(ns)));
        }
    }
}
