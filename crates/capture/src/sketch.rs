//! The distribution of times in bounded memory.

use crate::model::CapturedRtt;
use caudal_stats::{log_bucket, log_bucket_range, quantile_bucket};

/// Sub-buckets of a power of two: 32 of equal width, so that a bucket is at most 1/32 of its value wide.
const SUB_BITS: u32 = 5;
/// Maximum time with a bucket of its own, 2^42 ns (73 min).
const MAX_NS: u64 = 1 << 42;

/// Times in ns: exact minimum, mean and maximum, and a histogram with logarithmic buckets.
///
/// Its memory grows with the range of the buckets in use, up to 5 kB.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeSketch {
    n: u64,
    sum_ns: f64,
    min_ns: u64,
    max_ns: u64,
    /// The bucket that `counts` begin with.
    first: usize,
    counts: Vec<u32>,
}

/// The middle of a bucket.
fn middle(bucket: usize) -> f64 {
    let (low, high) = log_bucket_range(bucket, SUB_BITS);
    low as f64 + (high - low) as f64 / 2.0
}

impl TimeSketch {
    /// Takes in one time.
    #[inline]
    pub(crate) fn push(&mut self, ns: u64) {
        self.min_ns = if self.n == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.n += 1;
        self.sum_ns += ns as f64;
        let bucket = log_bucket(ns.min(MAX_NS), SUB_BITS);
        let inside = bucket.wrapping_sub(self.first);
        let at = match inside < self.counts.len() {
            true => inside,
            false => self.extend_to(bucket),
        };
        self.counts[at] = self.counts[at].saturating_add(1);
    }

    /// Makes a bucket part of `counts`; returns its place.
    fn extend_to(&mut self, bucket: usize) -> usize {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        let missing = self.first.saturating_sub(bucket);
        self.counts.splice(..0, std::iter::repeat_n(0, missing));
        self.first -= missing;
        let at = bucket - self.first;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        at
    }

    /// The smallest of the times; `None` without any.
    pub(crate) fn min_ns(&self) -> Option<u64> {
        (self.n > 0).then_some(self.min_ns)
    }

    /// The number of times.
    pub(crate) const fn n(&self) -> u64 {
        self.n
    }

    fn quantile_us(&self, q: f64, min_n: u64) -> Option<f64> {
        if self.n < min_n {
            return None;
        }
        let counts = self.counts.iter().map(|count| u64::from(*count));
        let at = quantile_bucket(counts, self.n, q)?;
        Some(middle(self.first + at).clamp(self.min_ns as f64, self.max_ns as f64) / 1e3)
    }

    /// The distribution as documents have it; `None` without times.
    pub(crate) fn document(&self) -> Option<CapturedRtt> {
        (self.n > 0).then(|| CapturedRtt {
            n: self.n,
            min_us: self.min_ns as f64 / 1e3,
            mean_us: self.sum_ns / self.n as f64 / 1e3,
            max_us: self.max_ns as f64 / 1e3,
            p50_us: self.quantile_us(0.5, 3),
            p95_us: self.quantile_us(0.95, 20),
            p99_us: self.quantile_us(0.99, 100),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_middle_of_a_bucket_is_within_1_6_percent_of_what_falls_into_it(ns in 0..MAX_NS) {
            let middle = middle(log_bucket(ns, SUB_BITS));
            let error = (middle - ns as f64).abs();
            prop_assert!(error <= ns as f64 * 0.016 + 0.5, "{ns} {middle}");
        }
    }

    #[test]
    fn the_order_of_times_does_not_matter_and_near_ones_take_few_buckets() {
        let times = [1_000_000, 1_100_000, 950_000, 1_050_000, 990_000];
        let sketch = |times: &mut dyn Iterator<Item = &u64>| {
            let mut sketch = TimeSketch::default();
            times.for_each(|ns| sketch.push(*ns));
            sketch
        };
        let (one, other) = (sketch(&mut times.iter()), sketch(&mut times.iter().rev()));
        assert_eq!(one.document(), other.document());
        assert!((one.document().unwrap().p50_us.unwrap() - 1_000.0).abs() < 16.0);
        assert!(one.counts.len() < 16);
    }

    #[test]
    fn extremes_and_mean_are_exact_and_percentiles_want_enough_times() {
        let mut sketch = TimeSketch::default();
        assert_eq!(sketch.document(), None);
        for ns in [3_000, 1_000, 2_000] {
            sketch.push(ns);
        }
        let document = sketch.document().unwrap();
        assert_eq!(
            (document.min_us, document.mean_us, document.max_us),
            (1.0, 2.0, 3.0)
        );
        assert!((document.p50_us.unwrap() - 2.0).abs() < 0.04);
        assert_eq!(document.p95_us, None);
        sketch.push(u64::MAX);
        assert!(sketch.counts.len() < 1300);
    }
}
