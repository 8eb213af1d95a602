//! What was measured of a link in both directions.

use caudal_core::units::BitRate;

/// One end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkSide {
    /// The end that measures.
    Near,
    /// The other.
    Far,
}

/// A value of each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EachWay<T> {
    /// From the near end to the far one.
    pub forward: T,
    /// From the far end to the near one.
    pub back: T,
}

impl<T: Copy> EachWay<T> {
    /// Both, the forward one first.
    pub(super) fn both(self) -> [T; 2] {
        [self.forward, self.back]
    }
}

/// The datagrams of one direction of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLoss {
    /// Datagrams sent.
    pub sent: u64,
    /// Of these, lost.
    pub lost: u64,
}

impl RunLoss {
    /// The fraction lost; `None` when nothing was sent, or more lost than sent.
    #[must_use]
    pub fn fraction(self) -> Option<f64> {
        (self.sent > 0 && self.lost <= self.sent).then(|| self.lost as f64 / self.sent as f64)
    }
}

/// Runs of UDP with random gaps at a small part of the capacity: each way alone, then both ways at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LightRuns {
    /// The load of each direction, as a fraction of the lower capacity: 0.05 to 0.2.
    pub load: f64,
    /// The run of each direction alone.
    pub alone: EachWay<RunLoss>,
    /// The run of both directions at once.
    pub together: EachWay<RunLoss>,
}

/// Runs of UDP at more than the capacity: goodputs of each way alone, then both ways at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaturatingRuns {
    /// The goodput of each direction alone.
    pub alone: EachWay<BitRate>,
    /// The goodput of both directions at once.
    pub together: EachWay<BitRate>,
}

/// How much the counters of an end's interface grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndErrors {
    /// Late collisions over all runs.
    pub late_collisions: u64,
    /// Frames with a wrong check sequence, misaligned or too short, during runs of one direction.
    pub bad_frames_alone: u64,
    /// The same during runs of both directions.
    pub bad_frames_together: u64,
}

/// All that was measured; what was not is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DuplexReadings {
    /// Light runs of large datagrams, 1472 bytes of payload.
    pub light: Option<LightRuns>,
    /// The same at twice the load.
    pub doubled: Option<LightRuns>,
    /// Light runs of small datagrams, 22 bytes of payload.
    pub small: Option<LightRuns>,
    /// Saturating runs.
    pub saturating: Option<SaturatingRuns>,
    /// The goodput of one TCP flow of each direction alone.
    pub tcp_alone: Option<EachWay<BitRate>>,
    /// The counters of the near end.
    pub near_errors: Option<EndErrors>,
    /// The counters of the far end.
    pub far_errors: Option<EndErrors>,
    /// The rates of the interfaces: `forward` of the near end, `back` of the far one.
    pub interface_rates: Option<EachWay<BitRate>>,
    /// The capacity of the path.
    pub capacity: Option<BitRate>,
}
