//! How long frames waited, in bounded memory.

use std::time::Duration;

use serde::Serialize;

use crate::moment::whole_ns;

/// Every power of two nanoseconds is parted in four.
const PARTS: u64 = 4;
const BUCKETS: usize = 256;

/// Waiting times: their count, mean, most, and a histogram a quarter of an octave fine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "Shown")]
pub struct Waiting {
    count: u64,
    total_ns: u128,
    most_ns: u64,
    buckets: Box<[u64; BUCKETS]>,
}

/// What is written of it; a value is missing without a frame.
#[derive(Serialize)]
struct Shown {
    count: u64,
    mean_ns: Option<u64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    most_ns: u64,
}

impl From<Waiting> for Shown {
    fn from(waiting: Waiting) -> Self {
        let ns = |time: Option<Duration>| time.map(whole_ns);
        Self {
            count: waiting.count,
            mean_ns: ns(waiting.mean()),
            p50_ns: ns(waiting.quantile(0.5)),
            p99_ns: ns(waiting.quantile(0.99)),
            most_ns: waiting.most_ns,
        }
    }
}

impl Default for Waiting {
    fn default() -> Self {
        Self {
            count: 0,
            total_ns: 0,
            most_ns: 0,
            buckets: Box::new([0; BUCKETS]),
        }
    }
}

impl Waiting {
    /// One more frame waited `ns` nanoseconds.
    pub fn record(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns += u128::from(ns);
        self.most_ns = self.most_ns.max(ns);
        self.buckets[bucket(ns)] += 1;
    }

    /// How many frames waited, those that waited no time included.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The mean; `None` without a frame.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.total_ns.checked_div(u128::from(self.count))?;
        u64::try_from(mean).ok().map(Duration::from_nanos)
    }

    /// The longest.
    #[must_use]
    pub const fn most(&self) -> Duration {
        Duration::from_nanos(self.most_ns)
    }

    /// A time that `share` of the frames did not exceed, at most a quarter too long; `None` without a frame.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = (share.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen > 0 && seen >= rank {
                let upper = upper_ns(index).min(self.most_ns);
                return Some(Duration::from_nanos(upper));
            }
        }
        None
    }
}

/// Where `ns` is counted: below 4 exactly, above by its three leading bits.
fn bucket(ns: u64) -> usize {
    if ns < PARTS {
        return ns as usize;
    }
    let octave = u64::from(u64::BITS - 1 - ns.leading_zeros());
    ((octave - 1) * PARTS + (ns >> (octave - 2)) % PARTS) as usize
}

/// The longest time counted in bucket `index`.
fn upper_ns(index: usize) -> u64 {
    let index = index as u64;
    if index < PARTS {
        return index;
    }
    let octave = index / PARTS + 1;
    // In 128 bits, because the last bucket ends at 2^64.
    let end = u128::from(PARTS + index % PARTS + 1) << (octave - 2);
    u64::try_from(end - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_has_no_quantile_and_no_mean() {
        let waiting = Waiting::default();
        assert_eq!((waiting.mean(), waiting.quantile(0.5)), (None, None));
    }

    proptest! {
        #[test]
        fn a_quantile_is_at_most_a_quarter_too_long(ns: u64) {
            let upper = upper_ns(bucket(ns));
            prop_assert!(upper >= ns);
            prop_assert!(u128::from(upper) * 4 <= u128::from(ns) * 5 + 4);
            let mut waiting = Waiting::default();
            waiting.record(ns);
            prop_assert_eq!(waiting.quantile(0.99), Some(Duration::from_nanos(ns)));
        }
    }
}
