//! The throughput of TCP between two ends by window (RFC 6349).

use crate::plan::Direction;
use crate::text::ExternalText;
use crate::units::{BitRate, ByteCount};
use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The windows that are tried, as parts of the bandwidth-delay product (RFC 6349 section 5.2 has an example of such a table).
pub const WINDOW_SHARES: [f64; 5] = [0.25, 0.5, 0.75, 1.0, 1.25];

/// The throughput of TCP between two ends by window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathThroughput {
    /// The path MTU, by which segments are full.
    pub path_mtu_bytes: ByteCount,
    /// The baseline round-trip time: the minimum without load, ms.
    pub baseline_rtt_ms: f64,
    /// The measured part of each run, s.
    pub run_s: f64,
    /// The congestion control that was asked for; absent for that of the sender's kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<ExternalText>,
    /// Each direction.
    pub directions: Vec<DirectionThroughput>,
}

/// The throughput in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionThroughput {
    /// The direction.
    pub direction: Direction,
    /// The bottleneck bandwidth, bits per second of frames on the wire.
    pub bottleneck_bps: BitRate,
    /// The payload that TCP can carry over it at most, bit/s.
    pub ideal_bps: BitRate,
    /// The bandwidth-delay product.
    pub bdp_bytes: ByteCount,
    /// The runs, by window, one flow first.
    pub runs: Vec<ThroughputRun>,
}

/// One run: some flows whose windows add up to a part of the bandwidth-delay product.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputRun {
    /// The flows.
    pub flows: u32,
    /// The windows of all flows together that were asked for, as a part of the bandwidth-delay product.
    pub share_of_bdp: f64,
    /// The windows of all flows together that were asked for.
    pub window_bytes: ByteCount,
    /// What receivers advertised at last, over all flows; absent where the sender's kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertised_bytes: Option<ByteCount>,
    /// What receivers advertised as a part of the bandwidth-delay product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertised_share_of_bdp: Option<f64>,
    /// What that window allows, and the link: the smaller of both, bit/s of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_bps: Option<BitRate>,
    /// The payload that arrived, bit/s; absent where the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<Estimate>,
    /// The actual transfer time over the ideal one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_time_ratio: Option<f64>,
    /// The part of the bytes sent that was not sent again, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
    /// The mean round-trip time, ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
    /// How much longer that is than the baseline, as a part of the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_delay: Option<f64>,
    /// What limited it, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<ExternalText>,
    /// Why it failed or was cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ExternalText>,
}

/// The actual transfer time over the ideal one, from the rates; `None` for an actual rate of 0.
///
/// Source: RFC 6349 section 4.1.
#[must_use]
pub fn transfer_time_ratio(ideal: BitRate, actual_bps: f64) -> Option<f64> {
    (actual_bps > 0.0).then(|| ideal.as_f64() / actual_bps)
}

/// The part of the bytes sent that was not sent again; `None` where nothing was sent or more was sent again than was sent.
///
/// Source: RFC 6349 section 4.2.
#[must_use]
pub fn tcp_efficiency(sent: u64, retransmitted: u64) -> Option<f64> {
    (sent > 0 && retransmitted <= sent).then(|| (sent - retransmitted) as f64 / sent as f64)
}

/// How much longer the mean round-trip time is than the baseline, as a part of that; `None` for a baseline of no time.
///
/// Source: RFC 6349 section 4.3.
#[must_use]
pub fn buffer_delay(mean_ms: f64, baseline_ms: f64) -> Option<f64> {
    (baseline_ms > 0.0).then(|| (mean_ms - baseline_ms) / baseline_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_are_those_of_the_rfc_s_examples() {
        // Section 4.1: 100 MB in 10.5 s where 8.43 s are ideal.
        let ideal = BitRate::from_f64(100e6 * 8.0 / 8.43).unwrap();
        let ratio = transfer_time_ratio(ideal, 100e6 * 8.0 / 10.5).unwrap();
        assert!((ratio - 1.2456).abs() < 1e-3, "{ratio}");
        assert_eq!(transfer_time_ratio(ideal, 0.0), None);
        // Section 4.2: 102 000 bytes, 2 000 of them again.
        let efficiency = tcp_efficiency(102_000, 2_000).unwrap();
        assert!((efficiency - 0.980_39).abs() < 1e-4);
        assert_eq!((tcp_efficiency(0, 0), tcp_efficiency(1, 2)), (None, None));
        // Section 4.3: 32 ms where 25 ms are the baseline.
        assert_eq!(buffer_delay(32.0, 25.0), Some(0.28));
        assert_eq!(buffer_delay(32.0, 0.0), None);
    }
}
