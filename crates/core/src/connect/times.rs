//! The distribution of a step's times.

use caudal_stats::LatencyHistogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distribution of the times that a step took, to three significant digits; percentiles only where there are enough values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectTimes {
    /// The number of connections that completed the step.
    pub n: u64,
    /// The minimum, µs.
    pub min_us: f64,
    /// The mean, µs.
    pub mean_us: f64,
    /// The median, µs.
    pub p50_us: f64,
    /// The 90th percentile, µs; absent below 29 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_us: Option<f64>,
    /// The 99th percentile, µs; absent below 299 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// The 99.9th percentile, µs; absent below 2 995 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_us: Option<f64>,
    /// The maximum, µs.
    pub max_us: f64,
}

impl ConnectTimes {
    /// The distribution of these times; `None` without any.
    #[must_use]
    pub fn new(times: &LatencyHistogram) -> Option<Self> {
        let us = |ns: u64| ns as f64 / 1e3;
        let percentile = |q| times.supported_quantile_ns(q).map(us);
        Some(Self {
            n: times.n(),
            min_us: us(times.min_ns()?),
            mean_us: times.mean_ns()? / 1e3,
            p50_us: us(times.quantile_ns(0.5)?),
            p90_us: percentile(0.9),
            p99_us: percentile(0.99),
            p99_9_us: percentile(0.999),
            max_us: us(times.max_ns()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_enough_times() {
        let mut times = LatencyHistogram::new();
        assert_eq!(ConnectTimes::new(&times), None);
        (1..=1000).for_each(|us| times.record_ns(us * 1000));
        let found = ConnectTimes::new(&times).unwrap();
        assert_eq!((found.n, found.p99_9_us), (1000, None));
        for (value, expected) in [
            (found.min_us, 1.0),
            (found.mean_us, 500.5),
            (found.p50_us, 500.0),
            (found.p90_us.unwrap(), 900.0),
            (found.p99_us.unwrap(), 990.0),
            (found.max_us, 1000.0),
        ] {
            assert!((value / expected - 1.0).abs() < 2e-3, "{value} {expected}");
        }
    }
}
