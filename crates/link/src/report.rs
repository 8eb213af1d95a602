//! Reports: counters and statistics of an element and its parts.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::counters::{FrameCounters, FrameTotals};
use crate::histogram::DurationSummary;
use crate::occupancy::OccupancySummary;

/// The statistics of a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueReport {
    /// Its length in frames over time.
    pub frames: OccupancySummary,
    /// Its length in bytes over time.
    pub bytes: OccupancySummary,
    /// The queueing delay of frames.
    pub waiting: DurationSummary,
}

/// The counters of a half-duplex station (after IEEE 802.3 clause 30.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collisions {
    /// Collisions while this station transmitted.
    pub all: u64,
    /// Frames transmitted after one collision.
    pub single: u64,
    /// Frames transmitted after more than one collision.
    pub multiple: u64,
    /// Frames dropped after sixteen collisions.
    pub excessive: u64,
    /// Collisions after the slot time.
    pub late: u64,
    /// Frames whose first attempt was deferred because the medium was busy.
    pub deferred: u64,
    /// Fragments of collided frames received here.
    pub fragments: u64,
}

/// The counters and statistics of a stage or node and of its parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComponentReport {
    /// The noun that names its kind, such as `serialiser`.
    pub kind: Cow<'static, str>,
    /// The frames that entered, left and were dropped.
    pub counters: FrameCounters,
    /// The frames still inside.
    pub held: FrameTotals,
    /// Present where frames queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueReport>,
    /// Present for a station of a shared medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collisions: Option<Collisions>,
    /// The reports of its parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<ComponentReport>,
}

impl ComponentReport {
    /// A report without a queue, collisions and parts.
    pub(crate) const fn new(
        kind: &'static str,
        counters: FrameCounters,
        held: FrameTotals,
    ) -> Self {
        Self {
            kind: Cow::Borrowed(kind),
            counters,
            held,
            queue: None,
            collisions: None,
            parts: Vec::new(),
        }
    }
}
