//! Frames and bytes in, out and lost, by reason.

use std::ops::{AddAssign, SubAssign};

use serde::{Serialize, Serializer};

use crate::frame::Frame;
use crate::occupancy::Occupancy;
use crate::waiting::Waiting;

/// A number of frames and their bytes from destination address to check sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Traffic {
    /// Frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Traffic {
    /// Adds one frame.
    pub fn count(&mut self, frame: &Frame) {
        self.frames += 1;
        self.bytes += u64::from(frame.length());
    }

    /// All the frames of `frames`.
    pub(crate) fn of<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Self {
        let mut traffic = Self::default();
        for frame in frames {
            traffic.count(frame);
        }
        traffic
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }
}

impl SubAssign for Traffic {
    /// Takes away what is part of it; nothing remains below zero.
    fn sub_assign(&mut self, part: Self) {
        self.frames = self.frames.saturating_sub(part.frames);
        self.bytes = self.bytes.saturating_sub(part.bytes);
    }
}

/// Why a frame came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// The queue had no room.
    QueueFull,
    /// RED chose it.
    Red,
    /// CoDel chose it.
    Codel,
    /// The link lost it.
    Loss,
    /// It was damaged, and its check sequence told.
    CheckSequence,
    /// It was more than the policer lets pass.
    Policed,
    /// Sixteen attempts ended in collisions.
    ExcessiveCollisions,
    /// It collided after the slot time.
    LateCollision,
    /// At its receiver it overlapped with another signal, which its sender did not see.
    Spoiled,
    /// The switch had no port to send it to.
    NoPort,
    /// It was a PAUSE frame and has been obeyed.
    Obeyed,
}

impl DropReason {
    /// All the reasons.
    pub const ALL: [Self; 11] = [
        Self::QueueFull,
        Self::Red,
        Self::Codel,
        Self::Loss,
        Self::CheckSequence,
        Self::Policed,
        Self::ExcessiveCollisions,
        Self::LateCollision,
        Self::Spoiled,
        Self::NoPort,
        Self::Obeyed,
    ];
}

/// What went in, what came out, and what became of the rest.
///
/// Offered and added frames have been delivered, have been dropped, or are held.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// What went in.
    pub offered: Traffic,
    /// What was made here: copies and PAUSE frames.
    pub added: Traffic,
    /// What came out.
    pub delivered: Traffic,
    /// What ended here, by reason.
    pub dropped: Drops,
}

impl Counters {
    /// Takes over the middle of `inner`, a part of a whole that counts its own frames in and out.
    pub(crate) fn take_in(&mut self, inner: &Self) {
        self.added += inner.added;
        self.dropped += inner.dropped;
    }

    /// Counts `frame` as dropped for `reason`.
    pub(crate) fn drop(&mut self, frame: &Frame, reason: DropReason) {
        self.dropped.0[reason as usize].count(frame);
    }

    /// Whether every frame is accounted for when `held` are still inside.
    #[must_use]
    pub fn balance(&self, held: Traffic) -> bool {
        let mut before = self.offered;
        before += self.added;
        let mut after = self.delivered;
        after += self.dropped.total();
        after += held;
        before == after
    }
}

/// Frames that came to their end, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops([Traffic; DropReason::ALL.len()]);

impl Drops {
    /// The frames that ended for `reason`.
    #[must_use]
    pub const fn by(&self, reason: DropReason) -> Traffic {
        self.0[reason as usize]
    }

    /// The frames that ended for any reason.
    #[must_use]
    pub fn total(&self) -> Traffic {
        let mut total = Traffic::default();
        for traffic in self.0 {
            total += traffic;
        }
        total
    }
}

impl Drops {
    /// Those that ended for `reason`, and no others.
    pub(crate) fn only(&self, reason: DropReason) -> Self {
        let mut drops = Self::default();
        drops.0[reason as usize] = self.by(reason);
        drops
    }

    /// All but those that ended for `reason`.
    pub(crate) fn without(mut self, reason: DropReason) -> Self {
        self.0[reason as usize] = Traffic::default();
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
    /// As a map from reason to traffic, without the reasons that did not occur.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let occurred = DropReason::ALL
            .into_iter()
            .map(|reason| (reason, self.by(reason)))
            .filter(|(_, traffic)| traffic.frames > 0);
        serializer.collect_map(occurred)
    }
}

/// What a queue went through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueReport {
    /// Frames waiting, over time.
    pub frames: Occupancy,
    /// Bytes waiting, over time.
    pub bytes: Occupancy,
    /// How long frames waited.
    pub waiting: Waiting,
}

/// The counters of a half-duplex station (after IEEE 802.3 clause 30.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Collisions {
    /// Collisions this station took part in while it sent.
    pub all: u64,
    /// Frames sent after one collision.
    pub single: u64,
    /// Frames sent after more than one.
    pub multiple: u64,
    /// Frames given up after sixteen attempts.
    pub excessive: u64,
    /// Collisions after the slot time.
    pub late: u64,
    /// Frames whose first attempt waited for the medium.
    pub deferred: u64,
    /// Pieces of collided frames that arrived here.
    pub fragments: u64,
}

/// Everything a cell or node counted, and its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The noun it is known by, such as `serialiser`.
    pub kind: &'static str,
    /// Frames in, out and dropped.
    pub counters: Counters,
    /// Frames still inside.
    pub held: Traffic,
    /// Present where frames queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueReport>,
    /// Present at a station of a shared medium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collisions: Option<Collisions>,
    /// What it is made of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Report>,
}

impl Report {
    /// What every cell and node can tell.
    pub(crate) const fn of(kind: &'static str, counters: Counters, held: Traffic) -> Self {
        Self {
            kind,
            counters,
            held,
            queue: None,
            collisions: None,
            parts: Vec::new(),
        }
    }
}
