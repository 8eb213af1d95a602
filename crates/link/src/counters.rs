//! Counters of frames and bytes: offered, delivered, dropped by reason.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{AddAssign, SubAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::frame::Frame;

/// A number of frames, and their bytes from destination address to check sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FrameTotals {
    /// The number of frames.
    pub frames: u64,
    /// The sum of their lengths in bytes.
    pub bytes: u64,
}

impl FrameTotals {
    /// `true` for none.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.frames == 0 && self.bytes == 0
    }

    /// Adds one frame.
    pub fn add(&mut self, frame: &Frame) {
        self.frames += 1;
        self.bytes += u64::from(frame.length());
    }
}

impl<'a> FromIterator<&'a Frame> for FrameTotals {
    fn from_iter<I: IntoIterator<Item = &'a Frame>>(frames: I) -> Self {
        let mut totals = Self::default();
        for frame in frames {
            totals.add(frame);
        }
        totals
    }
}

impl AddAssign for FrameTotals {
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }
}

impl SubAssign for FrameTotals {
    /// Subtracts a part; neither number goes below zero.
    fn sub_assign(&mut self, part: Self) {
        self.frames = self.frames.saturating_sub(part.frames);
        self.bytes = self.bytes.saturating_sub(part.bytes);
    }
}

/// The reason why a frame was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// The queue had no room.
    QueueFull,
    /// Dropped by RED.
    Red,
    /// Dropped by CoDel.
    Codel,
    /// Dropped by a dual queue.
    Dual,
    /// Lost on the link.
    Loss,
    /// Damaged, as its check sequence shows.
    CheckSequence,
    /// Exceeded a token bucket.
    Policed,
    /// Sixteen attempts ended in collisions.
    ExcessiveCollisions,
    /// Collided after the slot time.
    LateCollision,
    /// Overlapped with another signal at its receiver, in a collision that its sender did not detect.
    #[serde(alias = "spoiled")]
    UndetectedCollision,
    /// The switch had no other port to forward it to.
    NoPort,
    /// A PAUSE frame, which ends at the port it is addressed to.
    #[serde(rename = "obeyed")]
    PauseConsumed,
}

impl DropReason {
    /// All reasons.
    pub const ALL: [Self; 12] = [
        Self::QueueFull,
        Self::Red,
        Self::Codel,
        Self::Dual,
        Self::Loss,
        Self::CheckSequence,
        Self::Policed,
        Self::ExcessiveCollisions,
        Self::LateCollision,
        Self::UndetectedCollision,
        Self::NoPort,
        Self::PauseConsumed,
    ];
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::QueueFull => "queue full",
            Self::Red => "RED",
            Self::Codel => "CoDel",
            Self::Dual => "dual queue",
            Self::Loss => "loss",
            Self::CheckSequence => "check sequence",
            Self::Policed => "policed",
            Self::ExcessiveCollisions => "excessive collisions",
            Self::LateCollision => "late collision",
            Self::UndetectedCollision => "undetected collision",
            Self::NoPort => "no port",
            Self::PauseConsumed => "PAUSE",
        })
    }
}

/// The frames that entered and left an element.
///
/// Every frame that was offered or added has been delivered, has been dropped, or is held.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameCounters {
    /// Frames that entered.
    pub offered: FrameTotals,
    /// Frames that were created inside: copies and PAUSE frames.
    pub added: FrameTotals,
    /// Frames that left.
    pub delivered: FrameTotals,
    /// Frames that were dropped, by reason.
    pub dropped: Drops,
    /// Frames that were marked CE, congestion experienced, and not dropped.
    #[serde(default, skip_serializing_if = "FrameTotals::is_zero")]
    pub marked: FrameTotals,
}

impl FrameCounters {
    /// Adds the frames created and dropped in `inner`, a part of an element that counts its own input and output.
    pub(crate) fn merge_inner(&mut self, inner: &Self) {
        self.added += inner.added;
        self.dropped += inner.dropped;
        self.marked += inner.marked;
    }

    /// Counts `frame` as dropped for `reason`.
    pub(crate) fn drop(&mut self, frame: &Frame, reason: DropReason) {
        self.dropped.0[reason as usize].add(frame);
    }

    /// `true` when every frame is accounted for, with `held` frames still inside.
    #[must_use]
    pub fn is_balanced(&self, held: FrameTotals) -> bool {
        let mut entered = self.offered;
        entered += self.added;
        let mut left = self.delivered;
        left += self.dropped.total();
        left += held;
        entered == left
    }
}

/// Dropped frames by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops([FrameTotals; DropReason::ALL.len()]);

impl Drops {
    /// The frames dropped for `reason`.
    #[must_use]
    pub const fn by(&self, reason: DropReason) -> FrameTotals {
        self.0[reason as usize]
    }

    /// The frames dropped for any reason.
    #[must_use]
    pub fn total(&self) -> FrameTotals {
        let mut total = FrameTotals::default();
        for totals in self.0 {
            total += totals;
        }
        total
    }

    /// The frames dropped for `reason`, without the others.
    pub(crate) fn only(&self, reason: DropReason) -> Self {
        let mut drops = Self::default();
        drops.0[reason as usize] = self.by(reason);
        drops
    }

    /// The frames dropped for all reasons but `reason`.
    pub(crate) fn without(mut self, reason: DropReason) -> Self {
        self.0[reason as usize] = FrameTotals::default();
        self
    }
}

impl AddAssign for Drops {
    fn add_assign(&mut self, other: Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}

impl Serialize for Drops {
    /// A map from reason to totals, without the reasons that did not occur.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let occurred = DropReason::ALL
            .into_iter()
            .map(|reason| (reason, self.by(reason)))
            .filter(|(_, totals)| totals.frames > 0);
        serializer.collect_map(occurred)
    }
}

impl<'de> Deserialize<'de> for Drops {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut drops = Self::default();
        for (reason, totals) in BTreeMap::<DropReason, FrameTotals>::deserialize(deserializer)? {
            drops.0[reason as usize] = totals;
        }
        Ok(drops)
    }
}
