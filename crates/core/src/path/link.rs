//! The links between hops.

use crate::quantity::{EstimateInUnit, Unit, rate};
use crate::text::ExternalText;
use crate::units::BitRate;
use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a link does to packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathLinkClass {
    /// Every packet takes its size divided by the capacity.
    Serialising,
    /// A token bucket or policer: single packets pass at once, several in a row at a rate.
    Shaped,
    /// The serialisation time is below what the probes resolve.
    TooFast,
    /// The hop at its far end answers no probe.
    Filtered,
    /// The capacity is that of several links in series, with a store-and-forward device between them that has no hop of its own.
    PerhapsHiddenSwitch,
    /// The probes support no statement.
    Undetermined,
}

impl PathLinkClass {
    /// The class for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serialising => "serialising",
            Self::Shaped => "shaped",
            Self::TooFast => "too fast to tell",
            Self::Filtered => "filtered",
            Self::PerhapsHiddenSwitch => "perhaps a hidden switch",
            Self::Undetermined => "undetermined",
        }
    }
}

/// Confidence in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatementConfidence {
    /// Something else explains the readings as well.
    Low,
    /// The readings fit, and what would confirm them was not measured.
    Medium,
    /// Readings of more than one kind agree, or the interval is narrow.
    High,
}

impl StatementConfidence {
    /// The confidence for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The link, or links, between two hops that answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathLink {
    /// The TTL of its far end.
    pub ttl: u8,
    /// The TTL of its near end, 0 for this machine; where hops in between do not answer, it is all links between the two.
    pub from_ttl: u8,
    /// What it does to packets.
    pub class: PathLinkClass,
    /// The confidence in the class.
    pub confidence: StatementConfidence,
    /// Its capacity in the direction of the probes, bits per second of frames on the wire; absent where only a bound, or nothing, is known.
    ///
    /// Of a shaped link it is the minimum over the path so far: a faster shaper behind a slower one does not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bps: Option<Estimate>,
    /// The rate at which it sends single packets at least, where there is no capacity. A shaper whose bucket holds more than the primers
    /// may hold several in a row to less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_bps: Option<BitRate>,
    /// The reason for the class, in one sentence.
    pub reason: ExternalText,
}

impl PathLink {
    /// Its capacity for people, or what single packets have at least, and the interval; `None` where neither is known.
    #[must_use]
    pub fn capacity_and_interval(&self) -> (Option<String>, Option<String>) {
        match (&self.capacity_bps, self.at_least_bps) {
            (Some(capacity), _) => {
                let shown = EstimateInUnit::new(capacity, Unit::BitPerSecond);
                (Some(shown.mean()), shown.interval())
            }
            (None, Some(bound)) => {
                let bound = format!("at least {} for single packets", rate(bound));
                (Some(bound), None)
            }
            (None, None) => (None, None),
        }
    }
}

/// The link of the smallest capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NarrowPathLink {
    /// The TTL of its far end.
    pub ttl: u8,
    /// Its capacity, bits per second of frames on the wire.
    pub capacity_bps: Estimate,
    /// The links that may be as narrow, by the TTL of their far ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contested_by: Vec<u8>,
}
