//! The result of a test with STAMP.

use super::extension::ExtensionAnswer;
use super::way::StampWays;
use crate::echo::ReplySummary;
use crate::marks::MarkReport;
use crate::run::ClockReport;
use crate::text::ExternalText;
use caudal_stats::DistributionSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The clock of an end, by its error estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StampClock {
    /// `true` where it says that it is synchronized to UTC.
    pub is_synchronized: bool,
    /// The maximum error that it says, µs.
    pub error_us: f64,
}

/// What replies tell of their reflector.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StampReflector {
    /// Its clock; absent where it sent no valid error estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<StampClock>,
    /// The format of its timestamps: `ntp` or `ptp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<String>,
    /// The source of its clock, by its own word: `ntp`, `ptp`, `ssu_bits`, `satellite` or `free_running`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_source: Option<String>,
    /// The time for which it kept packets, by its timestamps, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_us: Option<DistributionSummary>,
    /// The time from the timestamp in a reply until it left the reflector, by follow-up telemetry, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_us: Option<DistributionSummary>,
    /// The address and port from which packets reached it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_from: Option<ExternalText>,
}

/// The result of a test with STAMP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StampReport {
    /// The packets with their round-trip times, in which the time that the reflector kept them is not, and the delay in each direction.
    pub packets: ReplySummary,
    /// What became of them in each direction.
    #[serde(flatten)]
    pub ways: StampWays,
    /// What replies tell of their reflector.
    pub reflector: StampReflector,
    /// The clock of this end; absent where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<StampClock>,
    /// The offset of the reflector's clock; absent where both are synchronized well enough to be believed, and where no reply has both
    /// of its times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<ClockReport>,
    /// Hops to the reflector, by the TTL with which packets arrived there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops_up: Option<u8>,
    /// Hops back, by the TTL with which replies arrived, where reflectors send with 255 as they should.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops_down: Option<u8>,
    /// The extensions asked for.
    #[serde(default)]
    pub extensions: Vec<ExtensionAnswer>,
    /// The marks of packets as they arrived at the reflector, by its class of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_up: Option<MarkReport>,
    /// The marks of replies as they arrived here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_down: Option<MarkReport>,
    /// Packets that arrived and are no replies: not authentic, altered, or of another test.
    #[serde(default)]
    pub discarded: u64,
    /// The duration of the test, s.
    pub elapsed_s: f64,
    /// The reason why the kernel timestamped nothing at this end: times are then those of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_stamps_missing: Option<ExternalText>,
    /// The reason why the test ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}
