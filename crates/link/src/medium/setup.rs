//! The settings of a medium and its stations.

use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_topology::{LateCollision, Readiness, StationDuplex};

use crate::queue::Queue;

/// The settings that all stations of a medium share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediumSetup {
    /// The rate: at most 100 Mbit/s, with a whole number of nanoseconds for a bit.
    pub rate: BitRate,
    /// The delay that a repeater between two stations adds.
    pub repeater_delay: Duration,
    /// The handling of frames that collided after the slot time.
    pub late_collision: LateCollision,
}

/// The settings of one station.
#[derive(Debug)]
pub struct StationSetup {
    /// Its duplex mode; full duplex on a half-duplex link is a duplex mismatch.
    pub duplex: StationDuplex,
    /// The propagation delay between the station and the centre of the medium, where all cables meet.
    pub delay: Duration,
    /// The time it needs after each frame it has sent.
    pub readiness: Readiness,
    /// Its transmit queue.
    pub queue: Queue,
}
