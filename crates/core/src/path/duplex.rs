//! The duplex mode of the links of a path.

use super::link::StatementConfidence;
use crate::interface::{InterfaceLink, LinkErrors};
use crate::plan::Direction;
use crate::text::ExternalText;
use crate::units::BitRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the links of a path are found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathDuplexMode {
    /// Both directions at once.
    Full,
    /// One direction at a time, known to both ends of the link: half-duplex Ethernet, or a radio.
    Half,
    /// A link whose ends differ, and the end nearer to this one is half duplex.
    MismatchNearHalf,
    /// A link whose ends differ, and the end farther from this one is half duplex.
    MismatchFarHalf,
    /// A link whose ends differ, in which way does not show.
    Mismatch,
    /// The measurements do not tell.
    CannotTell,
}

impl PathDuplexMode {
    /// The mode for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full duplex",
            Self::Half => "half duplex",
            Self::MismatchNearHalf => "duplex mismatch, the near end half duplex",
            Self::MismatchFarHalf => "duplex mismatch, the far end half duplex",
            Self::Mismatch => "duplex mismatch",
            Self::CannotTell => "cannot tell",
        }
    }

    /// `true` for a link whose ends differ.
    #[must_use]
    pub const fn is_mismatch(self) -> bool {
        matches!(
            self,
            Self::MismatchNearHalf | Self::MismatchFarHalf | Self::Mismatch
        )
    }
}

/// The kind of a run that shows the duplex mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DuplexRunKind {
    /// Full datagrams at random times at a small part of the capacity.
    Light,
    /// The same at twice the load.
    Doubled,
    /// Small datagrams, as many as in a light run, against full ones of the other direction.
    Small,
    /// Above the capacity.
    Saturating,
}

/// One direction of a run that shows the duplex mode.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DuplexRun {
    /// The kind.
    pub kind: DuplexRunKind,
    /// `true` while the other direction was under way as well.
    pub both_ways: bool,
    /// The direction.
    pub direction: Direction,
    /// The load, as a part of the lower capacity; absent above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Datagrams that were sent; absent where rates alone were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Of these, lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// The payload that arrived, bit/s; absent where losses alone were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<BitRate>,
}

/// The link of an end of a path, as its own interface reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathEndLink {
    /// The link.
    pub link: InterfaceLink,
    /// What its counters grew by during runs of one direction; absent without such runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth_alone: Option<LinkErrors>,
    /// The same during runs of both directions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth_together: Option<LinkErrors>,
    /// What it says of the duplex mode, in one sentence.
    pub reason: ExternalText,
    /// Confidence in that.
    pub confidence: StatementConfidence,
    /// What to do; absent where there is nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<ExternalText>,
}

/// The duplex mode of the links of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathDuplex {
    /// The mode.
    pub mode: PathDuplexMode,
    /// Confidence in this statement.
    pub confidence: StatementConfidence,
    /// The reason, in one sentence.
    pub reason: ExternalText,
    /// This end's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<PathEndLink>,
    /// The other end's link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<PathEndLink>,
    /// What to do, where it is the links between both ends that it concerns; absent where there is nothing to do, or an end has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<ExternalText>,
    /// The runs that showed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<DuplexRun>,
}
