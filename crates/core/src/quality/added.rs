//! The delay that load adds: that of a loaded phase above the idle one.

use super::probe::ProbeKind;
use crate::plan::Direction;
use caudal_stats::{nearest_rank, supported_quantile};
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
    pub fn above(idle: &[f64], loaded: &[f64]) -> Option<Self> {
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
            p95_us: supported_quantile(&under_load, 0.95).map(|us| us - base),
            p99_us: supported_quantile(&under_load, 0.99).map(|us| us - base),
            max_us: under_load.last()? - base,
        })
    }

    /// The 95th percentile, or the maximum where there are too few values for it.
    #[must_use]
    pub fn high_us(&self) -> f64 {
        self.p95_us.unwrap_or(self.max_us)
    }
}

/// The increase of the round-trip times of UDP echo and of TCP echo above those of the same in the idle phase.
///
/// A path may serve one of them first: then the load of the other waits for a queue that probes of this one do not meet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolIncreases {
    /// Of UDP echo; absent where it does not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<DelayIncrease>,
    /// Of TCP echo; absent where it does not pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<DelayIncrease>,
    /// The one that the path serves first, `udp` or `tcp`; absent where both wait alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_first: Option<ProbeKind>,
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
