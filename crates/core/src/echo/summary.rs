//! The summary of a round-trip test.

use super::outlier::RoundTripOutliers;
use crate::loss::RefusedSends;
use caudal_stats::{DistributionSummary, Estimate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The summary of the messages of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSummary {
    /// Bytes in each message.
    pub size_bytes: u32,
    /// All clients together.
    pub pooled: ReplySummary,
    /// Each client by itself, in the order of their numbers.
    pub clients: Vec<ClientSummary>,
}

/// The summary of the messages of one size from one client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientSummary {
    /// The client's number, from 0.
    pub client: u32,
    /// The summary of its messages.
    #[serde(flatten)]
    pub replies: ReplySummary,
}

/// The summary of some round trips.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplySummary {
    /// Messages sent that count.
    pub sent: u64,
    /// Of these, messages without a reply in time.
    pub lost: u64,
    /// Of these, messages that this host's own kernel refused to send; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// Of these, messages that a firewall of this host refused (`EPERM`); absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<u64>,
    /// Of all replies, those to messages that had been given up.
    pub late: u64,
    /// Of all replies, those to messages that had been answered already.
    pub duplicate: u64,
    /// The fraction lost; absent when nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Estimate>,
    /// The round-trip time of the first message of this size, µs, the mean over several clients; absent when
    /// no reply came in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_us: Option<f64>,
    /// Round-trip times, µs; absent when no reply came in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<DistributionSummary>,
    /// Their mean with its interval, µs, without those of delay episodes and of other levels; absent when no reply came in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<Estimate>,
    /// Messages in delay episodes; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delayed: Option<u64>,
    /// The time of the level of round trips that the mean is of, the longest; absent where they stayed at one level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<DelayLevel>,
    /// The round trips beyond ten times the 99th percentile; absent where there are none, and below 100 replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outliers: Option<RoundTripOutliers>,
    /// The round trip split at this host's kernel; absent where the kernel timestamped nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelSplit>,
    /// The delay of messages behind their schedule, µs; on a schedule only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_us: Option<Lateness>,
    /// The direction to the server; where messages carried timestamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<OneWaySummary>,
    /// The direction to the client; where messages carried timestamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<OneWaySummary>,
}

impl ReplySummary {
    /// The messages that this host's own kernel refused to send.
    #[must_use]
    pub fn refused_sends(&self) -> RefusedSends {
        RefusedSends {
            refused: self.refused.unwrap_or(0),
            forbidden: self.forbidden.unwrap_or(0),
        }
    }
}

/// A time in which round trips stayed at one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DelayLevel {
    /// Its beginning, s after the start of the test.
    pub from_s: f64,
    /// Its end, s: the last message.
    pub to_s: f64,
}

/// The round trip split at this host's kernel, by the messages that it timestamped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelSplit {
    /// From the kernel's hand-over to the device until it got the reply, µs: the network and the server's host.
    pub kernel_rtt_us: DistributionSummary,
    /// From the end of the call that sent the message until the last of it was handed to the device, µs: the wait in this
    /// host's send queues, for the pacing of its congestion control, for a window, or in its interface's queue. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_us: Option<DistributionSummary>,
    /// The rest of those messages' round trips, µs: this host's system calls and wake-ups.
    pub host_us: DistributionSummary,
}

/// The delay of scheduled messages behind their schedule when they were handed to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lateness {
    /// Messages.
    pub n: u64,
    /// Median, µs.
    pub p50: f64,
    /// The 99th percentile, µs; absent below 299 messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// The maximum, µs.
    pub max: f64,
}

/// One-way delay and delay variation in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneWaySummary {
    /// One-way delay with the clocks' offset removed, µs; wrong by up to `bound_us`, all alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_us: Option<DistributionSummary>,
    /// The maximum error of all the delays, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_us: Option<f64>,
    /// Mean |difference of the delays of consecutive messages|, µs (RFC 3393); absent below two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv_mean_abs_us: Option<f64>,
    /// Delay above the minimum, µs: median (RFC 5481).
    pub pdv_p50_us: f64,
    /// The 90th percentile of the same, µs; absent below 29 messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv_p90_us: Option<f64>,
    /// The 99th percentile of the same, µs; absent below 299 messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv_p99_us: Option<f64>,
    /// The 99.9th percentile of the same, µs; absent below 2 995 messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv_p99_9_us: Option<f64>,
    /// The maximum of the same, µs.
    pub pdv_max_us: f64,
}
