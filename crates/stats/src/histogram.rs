//! Histograms: of latencies in fixed memory, to three significant digits, and the buckets of coarser ones.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::quantile::{rank, samples_needed};

/// Maximum latency, an hour in ns; larger ones count as this.
const MAX_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// The bucket of an HDR histogram into which a value falls, for a number of significant digits.
///
/// Source: Tene, HdrHistogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HistogramBucket {
    /// The number of sub-buckets of equal width: `2^⌈log2(2·10^digits)⌉`.
    pub sub_buckets: u64,
    /// The index of the power of two; its sub-buckets are `2^index` wide.
    pub index: u32,
    /// The index of the sub-bucket.
    pub sub: u64,
    /// The smallest value in the sub-bucket.
    pub low: u64,
    /// The largest value in the sub-bucket.
    pub high: u64,
}

impl HistogramBucket {
    /// The bucket that contains `value` with one to five significant digits; `None` for other numbers of digits.
    #[must_use]
    pub fn containing(value: u64, digits: u8) -> Option<Self> {
        if !(1..=5).contains(&digits) {
            return None;
        }
        let sub_buckets = (2 * 10_u64.pow(u32::from(digits))).next_power_of_two();
        let index = (value | (sub_buckets - 1)).ilog2() + 1 - sub_buckets.ilog2();
        let sub = value >> index;
        let low = sub << index;
        Some(Self {
            sub_buckets,
            index,
            sub,
            low,
            high: low + ((1 << index) - 1),
        })
    }
}

/// The bucket of `value` in a histogram that divides each power of two into `2^sub_bits` buckets of equal width.
///
/// A bucket is at most `1/2^sub_bits` of its values wide; values below `2^(sub_bits + 1)` have a bucket each.
#[inline]
#[must_use]
pub const fn log_bucket(value: u64, sub_bits: u32) -> usize {
    if value < 1 << sub_bits {
        return value as usize;
    }
    let shift = value.ilog2() - sub_bits;
    (((shift as u64) << sub_bits) + (value >> shift)) as usize
}

/// The smallest and the largest value of a [`log_bucket`].
#[must_use]
pub const fn log_bucket_range(bucket: usize, sub_bits: u32) -> (u64, u64) {
    let (bucket, sub_buckets) = (bucket as u64, 1 << sub_bits);
    if bucket < sub_buckets {
        return (bucket, bucket);
    }
    let shift = (bucket >> sub_bits) - 1;
    let low = (sub_buckets + bucket % sub_buckets) << shift;
    (low, low + ((1 << shift) - 1))
}

/// The bucket with the value of rank `⌈q·n⌉`, of a histogram whose `counts` add up to `n`; `None` when it is empty or `q` is
/// outside 0 to 1.
#[must_use]
pub fn quantile_bucket(counts: impl IntoIterator<Item = u64>, n: u64, q: f64) -> Option<usize> {
    let rank = rank(n, q)?;
    let mut reached = 0;
    counts.into_iter().position(|count| {
        reached += count;
        reached >= rank
    })
}

/// A histogram of latencies in nanoseconds up to an hour, to three significant digits, in about 270 kB.
///
/// Serialised as a list of `[ns, count]`, one for every bucket in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct LatencyHistogram {
    counts: Histogram<u64>,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram; all its memory is allocated here.
    #[must_use]
    pub fn new() -> Self {
        let counts = Histogram::new_with_bounds(1, MAX_NS, DIGITS)
            .expect("the bounds are constants the crate accepts");
        Self { counts }
    }

    /// Records one latency; above an hour it counts as an hour.
    #[inline]
    pub fn record_ns(&mut self, ns: u64) {
        self.counts.saturating_record(ns.min(MAX_NS));
    }

    /// Records the same latency `count` times.
    pub fn record_ns_n(&mut self, ns: u64, count: u64) {
        self.counts.saturating_record_n(ns.min(MAX_NS), count);
    }

    /// Adds the counts of another histogram, for instance from another host: the only valid way to combine percentiles.
    pub fn merge(&mut self, other: &Self) {
        for (ns, count) in other.iter() {
            self.record_ns_n(ns, count);
        }
    }

    /// The number of latencies recorded.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.counts.len()
    }

    /// The latency in ns of rank `⌈q·n⌉`, as the upper edge of its bucket; `None` when empty or q is outside 0 to 1.
    #[must_use]
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        (self.n() > 0 && (0.0..=1.0).contains(&q)).then(|| self.counts.value_at_quantile(q))
    }

    /// As [`quantile_ns`](Self::quantile_ns), but also `None` with fewer samples than the quantile needs.
    ///
    /// See [`samples_needed`].
    #[must_use]
    pub fn supported_quantile_ns(&self, q: f64) -> Option<u64> {
        (self.n() >= samples_needed(q)?).then(|| self.quantile_ns(q))?
    }

    /// The smallest latency in ns, as the lower edge of its bucket; `None` when empty.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        (self.n() > 0).then(|| self.counts.min())
    }

    /// The largest latency in ns, as the upper edge of its bucket; `None` when empty.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        (self.n() > 0).then(|| self.counts.max())
    }

    /// The mean latency in ns, from the midpoints of the buckets; `None` when empty.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.n() > 0).then(|| self.counts.mean())
    }

    /// The lower edge in ns and the count of every bucket in use, from the smallest.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts.iter_recorded().map(|step| {
            let lower_edge = self.counts.lowest_equivalent(step.value_iterated_to());
            (lower_edge, step.count_at_value())
        })
    }

    /// Removes every recorded latency.
    pub fn clear(&mut self) {
        self.counts.reset();
    }
}

impl From<Vec<(u64, u64)>> for LatencyHistogram {
    fn from(counts: Vec<(u64, u64)>) -> Self {
        let mut histogram = Self::new();
        for (ns, count) in counts {
            histogram.record_ns_n(ns, count);
        }
        histogram
    }
}

impl From<LatencyHistogram> for Vec<(u64, u64)> {
    fn from(histogram: LatencyHistogram) -> Self {
        histogram.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn significant_digits_decide_the_width_of_a_bucket() {
        let two = HistogramBucket {
            sub_buckets: 256,
            index: 8,
            sub: 212,
            low: 54_272,
            high: 54_527,
        };
        let three = HistogramBucket {
            sub_buckets: 2048,
            index: 5,
            sub: 1697,
            low: 54_304,
            high: 54_335,
        };
        assert_eq!(HistogramBucket::containing(54_321, 2), Some(two));
        assert_eq!(HistogramBucket::containing(54_321, 3), Some(three));
        assert_eq!(HistogramBucket::containing(54_321, 0), None);
        assert!(HistogramBucket::containing(u64::MAX, 3).is_some());
        assert_eq!(
            HistogramBucket::containing(0, 3).map(|bucket| bucket.high),
            Some(0)
        );
    }

    #[test]
    fn the_quantile_of_a_histogram_is_in_the_bucket_of_its_rank() {
        let counts = [0, 3, 0, 6, 1];
        for (q, bucket) in [(0.0, 1), (0.3, 1), (0.31, 3), (0.9, 3), (0.91, 4), (1.0, 4)] {
            assert_eq!(quantile_bucket(counts, 10, q), Some(bucket), "{q}");
        }
        assert_eq!(quantile_bucket(counts, 10, 1.1), None);
        assert_eq!(quantile_bucket([0, 0], 0, 0.5), None);
    }

    #[test]
    fn an_empty_histogram_has_no_percentiles() {
        let empty = LatencyHistogram::new();
        assert_eq!(
            (empty.n(), empty.quantile_ns(0.5), empty.mean_ns()),
            (0, None, None)
        );
    }

    #[test]
    fn latencies_beyond_an_hour_count_as_an_hour() {
        let mut histogram = LatencyHistogram::new();
        histogram.record_ns(u64::MAX);
        histogram.record_ns(0);
        assert_eq!(histogram.n(), 2);
        assert_eq!(histogram.min_ns(), Some(0));
        let hour = HistogramBucket::containing(MAX_NS, DIGITS).unwrap();
        assert_eq!(histogram.max_ns(), Some(hour.high));
    }

    #[test]
    fn a_percentile_needs_enough_samples() {
        let mut histogram = LatencyHistogram::new();
        for ns in 1..=298 {
            histogram.record_ns(ns);
        }
        assert_eq!(histogram.supported_quantile_ns(0.99), None);
        histogram.record_ns(299);
        assert_eq!(histogram.supported_quantile_ns(0.99), Some(297));
        assert_eq!(histogram.quantile_ns(2.0), None);
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_value_and_is_narrow(value: u64, sub_bits in 0_u32..8) {
            let bucket = log_bucket(value, sub_bits);
            let (low, high) = log_bucket_range(bucket, sub_bits);
            prop_assert!(low <= value && value <= high);
            prop_assert!(high - low <= low >> sub_bits);
            prop_assert_eq!(log_bucket(low, sub_bits), bucket);
            prop_assert_eq!(log_bucket(high, sub_bits), bucket);
        }

        #[test]
        fn merging_equals_recording_every_latency(left: Vec<u64>, right: Vec<u64>) {
            let histogram_from = |values: &[u64]| {
                let mut histogram = LatencyHistogram::new();
                values.iter().for_each(|&ns| histogram.record_ns(ns >> 20));
                histogram
            };
            let mut merged = histogram_from(&left);
            merged.merge(&histogram_from(&right));
            let all = histogram_from(&[left, right].concat());
            prop_assert_eq!(merged.iter().collect::<Vec<_>>(), all.iter().collect::<Vec<_>>());
        }

        #[test]
        fn json_preserves_every_bucket(values in proptest::collection::vec(0..MAX_NS, 0..40)) {
            let mut histogram = LatencyHistogram::new();
            values.iter().for_each(|&ns| histogram.record_ns(ns));
            let json = serde_json::to_string(&histogram).unwrap();
            let read: LatencyHistogram = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(read, histogram);
        }

        #[test]
        fn a_value_is_recorded_in_its_bucket(ns in 0..MAX_NS) {
            let mut histogram = LatencyHistogram::new();
            histogram.record_ns(ns);
            let bucket = HistogramBucket::containing(ns, DIGITS).unwrap();
            prop_assert!(bucket.low <= ns && ns <= bucket.high);
            prop_assert_eq!(histogram.quantile_ns(0.5), Some(bucket.high));
            prop_assert_eq!(histogram.min_ns(), Some(bucket.low));
        }
    }
}
