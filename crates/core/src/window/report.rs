//! The window of one direction of a path: what it needs, what it got, and the settings behind that.

use super::baseline::BaselineSource;
use super::rate::PathRateSource;
use super::setting::SettingJudgement;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a window fills its path, and at which end it does not: where at both, at that of the smaller one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowSufficiency {
    /// The window does not limit the rate.
    Sufficient,
    /// What the receiver advertises is too small.
    ReceiverTooSmall,
    /// What the sender's buffer holds is too small.
    SenderTooSmall,
    /// There is too little to tell.
    #[default]
    Unknown,
}

/// The window that one direction of a path needs and what both ends grant.
///
/// Sizes of several flows are those of all of them together; those of the kernels' settings are of one connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowReport {
    /// The baseline round-trip time, without load, µs.
    pub rtt_us: f64,
    /// What it was measured with.
    pub rtt_source: BaselineSource,
    /// The rate that the window is for, bit/s; absent where none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// Where it comes from: a link's rate, or one that was measured, of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_source: Option<PathRateSource>,
    /// `true` when the path may carry more, so that all that follows from the rate is a lower bound.
    #[serde(default)]
    pub rate_at_least: bool,
    /// The bandwidth-delay product, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bdp_bytes: Option<u64>,
    /// The same in full segments, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bdp_segments: Option<u64>,
    /// The window that the path needs, bytes: 1.25 times that product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_bytes: Option<u64>,
    /// The largest window that the receiver advertised, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertised_bytes: Option<u64>,
    /// The mean congestion window, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd_mean_bytes: Option<u64>,
    /// The mean payload in flight, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_mean_bytes: Option<u64>,
    /// The receive buffer at the end, as the kernel accounts it, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer_bytes: Option<u64>,
    /// The send buffer at the end, as the kernel accounts it, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_buffer_bytes: Option<u64>,
    /// About the largest window that the receiver's kernel advertises by its own tuning, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_max_bytes: Option<u64>,
    /// About the largest window that the sender's kernel keeps by its own tuning, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_max_bytes: Option<u64>,
    /// The rate that the window allows at the baseline round-trip time, bit/s: of the one advertised, or, without a connection, of the
    /// smaller one that the kernels' tuning reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_bps: Option<u64>,
    /// The number of flows that fill the path with windows as small as these; absent where the window suffices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows_needed: Option<u64>,
    /// Whether the window fills the path.
    #[serde(default)]
    pub sufficiency: WindowSufficiency,
    /// The settings of both kernels, the sender's first; none where no rate is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingJudgement>,
}

impl WindowReport {
    /// About the largest window that both kernels reach by their own tuning, bytes; `None` where that of one is not known.
    #[must_use]
    pub fn kernels_max_bytes(&self) -> Option<u64> {
        Some(self.receiver_max_bytes?.min(self.sender_max_bytes?))
    }

    /// The settings that are not what the path needs.
    pub fn insufficient(&self) -> impl Iterator<Item = &SettingJudgement> {
        self.settings
            .iter()
            .filter(|setting| setting.suffices == Some(false))
    }
}
