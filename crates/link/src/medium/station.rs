//! The state of a station and of a signal.

use caudal_topology::{Readiness, StationDuplex};

use super::setup::StationSetup;
use crate::counters::{FrameCounters, FrameTotals};
use crate::frame::Frame;
use crate::histogram::DurationHistogram;
use crate::queue::Queue;
use crate::report::Collisions;
use crate::time::{SimTime, duration_to_ns};

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
