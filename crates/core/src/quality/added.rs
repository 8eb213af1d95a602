//! The delay that load adds: that of a loaded phase above the idle one.

use super::probe::supported;
use crate::plan::Direction;
use caudal_stats::nearest_rank;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The increase of a delay above its median in the idle phase, µs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelayIncrease {
    /// The mean under load less the mean without.
    pub mean_us: f64,
    /// The median under load.
    pub p50_us: f64,
    /// The 95th percentile under load; absent below 59 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<f64>,
    /// The 99th percentile under load; absent below 299 values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
    /// The maximum under load: the queue at its fullest.
    pub max_us: f64,
}

impl DelayIncrease {
    /// The increase of `loaded` above `idle`, both in µs; `None` where either has no values.
    #[must_use]
    pub fn between(idle: &[f64], loaded: &[f64]) -> Option<Self> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let sorted = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            sorted
        };
        let base = nearest_rank(&sorted(idle), 0.5)?;
        let under_load = sorted(loaded);
        Some(Self {
            mean_us: mean(loaded) - mean(idle),
            p50_us: nearest_rank(&under_load, 0.5)? - base,
            p95_us: supported(&under_load, 0.95).map(|us| us - base),
            p99_us: supported(&under_load, 0.99).map(|us| us - base),
            max_us: under_load.last()? - base,
        })
    }

    /// The 95th percentile, or the maximum where there are too few values for it.
    #[must_use]
    pub fn high_us(&self) -> f64 {
        self.p95_us.unwrap_or(self.max_us)
    }
}

/// The delay that load adds in one direction, and the queue that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedDelay {
    /// The direction.
    pub direction: Direction,
    /// The increase of the one-way delay of UDP probes above that in the idle phase. The offset of the clocks is the same in both.
    #[serde(flatten)]
    pub increase: DelayIncrease,
    /// The queue that makes up the mean increase at the mean goodput, bytes of payload; absent without load in this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_mean_bytes: Option<f64>,
    /// The same for the maximum increase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_max_bytes: Option<f64>,
}

impl AddedDelay {
    /// The increase in a direction whose mean goodput is `goodput_bps`, where it carried load.
    #[must_use]
    pub fn new(direction: Direction, increase: DelayIncrease, goodput_bps: Option<f64>) -> Self {
        let bytes = |us: f64| goodput_bps.map(|bps| us.max(0.0) / 1e6 * bps / 8.0);
        Self {
            direction,
            increase,
            queue_mean_bytes: bytes(increase.mean_us),
            queue_max_bytes: bytes(increase.max_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_the_delay_times_the_goodput() {
        let increase = DelayIncrease::between(&[40e3; 9], &[140e3, 90e3, 240e3]).unwrap();
        assert!((increase.max_us - 200e3).abs() < 1e-6 && (increase.p50_us - 100e3).abs() < 1e-6);
        assert_eq!(increase.p95_us, None);
        assert_eq!(increase.high_us(), increase.max_us);
        // 200 ms at 5 Mbit/s are 125 000 bytes.
        let added = AddedDelay::new(Direction::Up, increase, Some(5e6));
        assert!((added.queue_max_bytes.unwrap() - 125_000.0).abs() < 1e-6);
        assert_eq!(
            AddedDelay::new(Direction::Up, increase, None).queue_max_bytes,
            None
        );
        assert_eq!(DelayIncrease::between(&[], &[1.0]), None);
    }
}
