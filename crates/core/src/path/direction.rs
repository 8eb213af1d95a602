//! One direction between the two ends of a path: capacity, shaper and available bandwidth.

use super::link::StatementConfidence;
use crate::plan::Direction;
use crate::text::ExternalText;
use crate::units::{BitRate, ByteCount};
use crate::window::{NextStep, WindowReport};
use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a capacity between two ends was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapacityEvidence {
    /// Pairs of packets that met no queue.
    Pairs,
    /// The first and the last packet of bulks.
    Bulks,
    /// The rate at which trains arrived, which is less than the capacity beside other traffic: where the duplex mode alone was asked for, pairs and
    /// bulks show nothing, or trains arrive faster than those show.
    Trains,
}

/// The capacity of the narrow link in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NarrowCapacity {
    /// The capacity, bits per second of frames on the wire; its ends are bounds from the noise of the times, without a confidence. Absent where
    /// it cannot be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bps: Option<Estimate>,
    /// The rate that the path carries at least, where it is too fast for hosts to tell more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_bps: Option<BitRate>,
    /// What it was read from.
    pub evidence: CapacityEvidence,
    /// The packets of a bulk after the first; absent for pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk_packets: Option<u32>,
    /// The capacity by packets of another size, or by shorter bulks, which agrees; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by_bps: Option<Estimate>,
    /// The rate at which trains arrived: between the available bandwidth and the capacity where other traffic crosses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trains_bps: Option<Estimate>,
    /// The token bucket in the way; absent where trains show none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<PathShaper>,
    /// The longest train: a shaper whose bucket holds more does not show.
    pub longest_train_bytes: ByteCount,
    /// Confidence in this estimate.
    pub confidence: StatementConfidence,
    /// The reason, in one sentence.
    pub reason: ExternalText,
}

/// What a token bucket does to packets for which it has no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenBucketKind {
    /// They wait.
    Shaper,
    /// They are dropped, and the others are not delayed.
    Policer,
}

impl TokenBucketKind {
    /// The kind for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shaper => "shaper",
            Self::Policer => "policer",
        }
    }
}

/// A token bucket between two ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathShaper {
    /// What it does to packets for which it has no tokens; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TokenBucketKind>,
    /// The rate that it sustains, bits per second of frames on the wire.
    pub rate_bps: Estimate,
    /// What passes at once, on the wire.
    pub bucket_bytes: ByteCount,
}

/// The rates between which the available bandwidth lies, bits per second of frames on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathAvailable {
    /// The highest rate that was below it; 0 where none was.
    pub low_bps: BitRate,
    /// The lowest rate that was above it; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_bps: Option<BitRate>,
    /// The lowest rate at which streams disagreed: from here on it varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grey_low_bps: Option<BitRate>,
    /// The highest rate at which streams disagreed: up to here it varied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grey_high_bps: Option<BitRate>,
    /// The fleets of streams that were sent.
    pub fleets: u32,
    /// `true` when the search ended before its bracket was narrow.
    pub unfinished: bool,
}

/// One direction between the two ends of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathDirection {
    /// The direction, seen from this end.
    pub direction: Direction,
    /// The capacity of the narrow link; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrow: Option<NarrowCapacity>,
    /// The available bandwidth; absent where it was not measured or cannot be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<PathAvailable>,
    /// Why the available bandwidth cannot be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_unknown: Option<ExternalText>,
    /// The window that TCP needs, and what the kernels of both ends allow; absent where the capacity or the round-trip time is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Box<WindowReport>>,
    /// What to do for a connection to fill the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<NextStep>,
}

impl PathDirection {
    /// A direction of which nothing is known.
    #[must_use]
    pub const fn unknown(direction: Direction) -> Self {
        Self {
            direction,
            narrow: None,
            available: None,
            available_unknown: None,
            window: None,
            next_step: None,
        }
    }

    /// The rate that the direction sustains: that of the shaper where there is one, else the capacity of the narrow link.
    #[must_use]
    pub fn sustained_bps(&self) -> Option<&Estimate> {
        let narrow = self.narrow.as_ref()?;
        match &narrow.shaper {
            Some(shaper) => Some(&shaper.rate_bps),
            None => narrow.capacity_bps.as_ref(),
        }
    }
}
