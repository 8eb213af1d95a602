//! The summary of a run: that of a throughput test, or of a round-trip test.

use crate::echo::{ClockOffsetLine, SizeSummary};
use crate::host::Usage;
use crate::marks::MarkReport;
use crate::summary::{DirectionSummary, estimate_or_number};
use crate::text::ExternalText;
use crate::window::{NextStep, WindowReport};
use caudal_stats::{DistributionSummary, Estimate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The key `summary` of a document.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Summary {
    /// Of a round-trip test.
    RoundTrips(Box<RoundTripSummary>),
    /// Of a throughput test.
    Throughput(Box<ThroughputSummary>),
}

/// The processor time of both ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuReport {
    /// The client's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Usage>,
    /// The server's, when it could report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Usage>,
}

/// The summary of a throughput test. One made from another tool's log has the figures that the log reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThroughputSummary {
    /// Payload that arrived per second, bit/s; null with several directions.
    #[serde(default, deserialize_with = "estimate_or_number")]
    pub goodput_bps: Option<Estimate>,
    /// Each direction, up first.
    #[serde(default)]
    pub directions: Vec<DirectionSummary>,
    /// The minimum round-trip time over the idle control connection before the test, µs; null where there is none.
    #[serde(default)]
    pub idle_rtt_us: Option<f64>,
    /// The time it took to connect, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<f64>,
    /// The processor time of both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuReport>,
}

/// The summary of a round-trip test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTripSummary {
    /// Round-trip times of the only message size, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<DistributionSummary>,
    /// Their mean with its interval, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<Estimate>,
    /// Each message size, in the order they were measured.
    pub sizes: Vec<SizeSummary>,
    /// `true` when the first message of each size counts with the others.
    pub include_first: bool,
    /// Messages sent that count.
    pub messages: u64,
    /// Messages without a reply in time.
    pub lost: u64,
    /// The fraction lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Estimate>,
    /// The duration of the test, s.
    pub elapsed_s: f64,
    /// The minimum round-trip time over the idle control connection before the test, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_rtt_us: Option<f64>,
    /// The time it took to connect, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<f64>,
    /// The reason why the kernel timestamped nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_stamps_missing: Option<ExternalText>,
    /// The clocks of both ends, where one-way delays were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockReport>,
    /// The window that the path needs from client to server, and what both kernels allow; absent on a loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_up: Option<Box<WindowReport>>,
    /// The same from server to client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_down: Option<Box<WindowReport>>,
    /// What to do next for the direction from client to server; absent on a loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step_up: Option<NextStep>,
    /// The same from server to client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step_down: Option<NextStep>,
    /// The marks of the IP header with which messages were sent, and those with which they arrived at the server (UDP); absent where it did
    /// not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_up: Option<MarkReport>,
    /// The same of replies, as they arrived at the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_down: Option<MarkReport>,
    /// The processor time of both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuReport>,
    /// The reason why the test ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}

/// The offset of the server's clock from the client's over a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockReport {
    /// The offset before the test, µs.
    pub offset_before_us: f64,
    /// The offset after it, µs.
    pub offset_after_us: f64,
    /// The maximum error of both, µs.
    pub bound_us: f64,
    /// The drift between them, parts per million.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ppm: Option<f64>,
}

impl From<ClockOffsetLine> for ClockReport {
    fn from(clock: ClockOffsetLine) -> Self {
        Self {
            offset_before_us: clock.before.offset_ns as f64 / 1e3,
            offset_after_us: clock.after.offset_ns as f64 / 1e3,
            bound_us: clock.bound_ns() as f64 / 1e3,
            drift_ppm: clock.drift_ppm(),
        }
    }
}
