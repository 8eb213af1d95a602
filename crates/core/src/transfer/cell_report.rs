//! The result of a cell: its runs added up.

use super::cell::TransferCell;
use super::summary::TransferTimes;
use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a cell: the times of its verified runs, and what they cost. A cell without such a run has no times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferCellReport {
    /// The cell.
    #[serde(flatten)]
    pub cell: TransferCell,
    /// The number of verified runs.
    pub n: u64,
    /// The mean time, s: with its interval of five and more runs, with the minimum and maximum of fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<Estimate>,
    /// The standard deviation of the times, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_s: Option<f64>,
    /// The minimum, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_s: Option<f64>,
    /// The median, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_s: Option<f64>,
    /// The maximum, s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_s: Option<f64>,
    /// The coefficient of variation: the standard deviation as a fraction of the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<f64>,
    /// The error: half the width of the interval as a fraction of the mean; absent of fewer than five runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// `true` when the error is within the goal; absent where there is no error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal_met: Option<bool>,
    /// The number of runs that the goal takes with this spread; absent of fewer than five runs, and above a million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<u64>,
    /// File bytes per second of the mean time, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// The mean of each part of the time.
    pub times: TransferTimes,
    /// The mean number of datagrams with file bytes that were sent (RBT, QUIC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<f64>,
    /// The mean number of datagrams or segments that were sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<f64>,
    /// The mean fraction of datagrams lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Datagrams that the receivers' sockets dropped in all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// The mean CPU time of the sender's thread for each file byte, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_cpu_ns_per_byte: Option<f64>,
    /// The mean CPU time of the receiver's thread for each file byte, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu_ns_per_byte: Option<f64>,
    /// The correlation of each time with that of the next run; absent of fewer than five runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag1: Option<f64>,
    /// The second half of the runs beside the first; absent of fewer than ten runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halves: Option<TransferHalves>,
}

/// The second half of a cell's runs beside the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferHalves {
    /// The mean time of the first half, s.
    pub first_s: f64,
    /// The mean time of the second half, s.
    pub second_s: f64,
    /// The probability of so large a difference of equal means (Welch's t-test).
    pub p: f64,
}
