//! The round trips of one interval of a test that is under way.

use caudal_stats::supported_quantile;
use serde::{Deserialize, Serialize};

/// The round trips of one interval, of all clients. Nothing but the live view uses it: the result has every message.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RoundTripInterval {
    /// The start of the interval, s after the start of the test.
    pub start_s: f64,
    /// The end of the interval, s after the start of the test.
    pub end_s: f64,
    /// Bytes in each message.
    pub size_bytes: u32,
    /// Replies that arrived in time.
    pub replies: u64,
    /// Messages that were given up.
    pub lost: u64,
    /// The smallest round-trip time, µs; `None` without a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_us: Option<f64>,
    /// The mean, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<f64>,
    /// The 99th percentile, µs; `None` below 299 replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// The largest, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_us: Option<f64>,
}

/// The bounds of an interval, s after the start of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntervalBounds {
    /// Its start.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
}

impl RoundTripInterval {
    /// The interval in which `lost` messages were given up and these round-trip times (ns, in any order) were measured.
    #[must_use]
    pub fn new(bounds: IntervalBounds, size_bytes: u32, lost: u64, times_ns: &[u64]) -> Self {
        let mut sorted: Vec<f64> = times_ns.iter().map(|ns| *ns as f64 / 1e3).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len() as u64;
        Self {
            start_s: bounds.start_s,
            end_s: bounds.end_s,
            size_bytes,
            replies: n,
            lost,
            min_us: sorted.first().copied(),
            mean_us: (n > 0).then(|| sorted.iter().sum::<f64>() / n as f64),
            p99_us: supported_quantile(&sorted, 0.99),
            max_us: sorted.last().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: IntervalBounds = IntervalBounds {
        start_s: 1.0,
        end_s: 2.0,
    };

    #[test]
    fn an_interval_has_what_its_replies_say() {
        let times: Vec<u64> = (1..=1000).rev().map(|us| us * 1000).collect();
        let row = RoundTripInterval::new(BOUNDS, 64, 3, &times);
        assert_eq!((row.replies, row.lost), (1000, 3));
        assert_eq!((row.min_us, row.max_us), (Some(1.0), Some(1000.0)));
        assert_eq!((row.mean_us, row.p99_us), (Some(500.5), Some(990.0)));
    }

    #[test]
    fn too_few_replies_have_no_percentile_and_none_have_nothing() {
        let few = RoundTripInterval::new(BOUNDS, 64, 0, &[2000, 1000]);
        assert_eq!((few.mean_us, few.p99_us), (Some(1.5), None));
        let none = RoundTripInterval::new(BOUNDS, 64, 9, &[]);
        assert_eq!((none.replies, none.lost), (0, 9));
        assert_eq!((none.min_us, none.mean_us, none.max_us), (None, None, None));
    }
}
