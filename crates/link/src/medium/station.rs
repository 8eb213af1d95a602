//! The state of a station and of a signal.

use crate::counters::{FrameCounters, FrameTotals};
use crate::frame::Frame;
use crate::histogram::DurationHistogram;
use crate::queue::Queue;
use crate::report::Collisions;
use crate::time::{SimTime, duration_to_ns};
use caudal_core::units::BitRate;
use caudal_topology::{LateCollision, Readiness, StationDuplex};
use std::time::Duration;

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

/// An event at a station.
///
/// Simultaneous events are processed in the order of the variants: ends before starts, and carriers last, because stations
/// that start to send at the same time do not sense each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MediumEvent {
    /// The station's transmission or jam ends; `serial` is that of the transmission.
    SendEnd { station: usize, serial: u64 },
    /// A signal of another station ends here.
    CarrierOff { station: usize, signal: usize },
    /// The interframe gap ends; `serial` is that of the gap.
    GapEnd { station: usize, serial: u64 },
    /// The backoff after a collision ends.
    BackoffEnd { station: usize },
    /// The station is ready for its next frame.
    Ready { station: usize },
    /// A signal of another station begins here.
    CarrierOn { station: usize, signal: usize },
}

/// A transmission in progress.
#[derive(Debug)]
pub(super) struct Transmission {
    /// The slot of its signal.
    pub(super) signal: usize,
    pub(super) start: SimTime,
    pub(super) end: SimTime,
    pub(super) collided: bool,
    /// Set when it collided after the slot time.
    pub(super) collided_late: bool,
}

/// A station of a medium.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) duplex: StationDuplex,
    /// The propagation delay to the centre of the medium.
    pub(super) delay_ns: u64,
    pub(super) readiness: Readiness,
    pub(super) queue: Queue,
    /// The frame to be sent next, and when it was queued.
    pub(super) head: Option<(SimTime, Frame)>,
    /// The collisions of that frame.
    pub(super) attempts: u32,
    pub(super) backing_off: bool,
    /// Set while it is not yet ready for the next frame.
    pub(super) preparing: bool,
    /// Set while it waits for the end of a carrier or of the interframe gap behind it.
    pub(super) deferring: bool,
    pub(super) gap_since: Option<SimTime>,
    /// The number of the current gap; events of earlier ones are void.
    pub(super) gap_serial: u64,
    pub(super) sending: Option<Transmission>,
    /// The number of the current transmission or jam; events of earlier ones are void.
    pub(super) send_serial: u64,
    /// The number of signals of other stations here.
    pub(super) carriers: u32,
    /// The signal that has been alone here since it began.
    pub(super) undisturbed: Option<usize>,
    pub(super) counters: FrameCounters,
    pub(super) collisions: Collisions,
    /// From queueing to the start of the successful attempt.
    pub(super) waiting: DurationHistogram,
    pub(super) sent: FrameTotals,
    pub(super) sent_ns: u64,
}

impl Station {
    pub(super) fn new(setup: StationSetup) -> Self {
        Self {
            duplex: setup.duplex,
            delay_ns: duration_to_ns(setup.delay),
            readiness: setup.readiness,
            queue: setup.queue,
            head: None,
            attempts: 0,
            backing_off: false,
            preparing: false,
            deferring: false,
            gap_since: None,
            gap_serial: 0,
            sending: None,
            send_serial: 0,
            carriers: 0,
            undisturbed: None,
            counters: FrameCounters::default(),
            collisions: Collisions::default(),
            waiting: DurationHistogram::default(),
            sent: FrameTotals::default(),
            sent_ns: 0,
        }
    }

    pub(super) fn is_half_duplex(&self) -> bool {
        self.duplex == StationDuplex::Half
    }

    pub(super) fn held(&self) -> FrameTotals {
        let mut held = self.queue.held();
        held += self.head.iter().map(|(_, frame)| frame).collect();
        held
    }
}

/// A signal on its way to the other stations.
#[derive(Debug)]
pub(super) struct Signal {
    pub(super) frame: Frame,
    /// Set when a collision cut it short.
    pub(super) truncated: bool,
    /// The number of stations at which it has not ended.
    pub(super) remaining: usize,
}
