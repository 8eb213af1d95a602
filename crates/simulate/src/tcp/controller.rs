//! Which congestion control a flow has.

use caudal_link::moment::Moment;

use super::Congestion;
use super::cubic::{Cubic, DelaySample};
use super::reno;
use super::window::Window;

/// A congestion control and what it remembers.
#[derive(Debug, Clone)]
pub(crate) enum Controller {
    Reno,
    Cubic(Box<Cubic>),
}

impl Controller {
    pub(crate) fn new(congestion: Congestion) -> Self {
        match congestion {
            Congestion::Reno => Self::Reno,
            Congestion::Cubic => Self::Cubic(Box::default()),
        }
    }

    /// The slow-start threshold after a loss.
    pub(crate) fn threshold(&mut self, window: &Window) -> u64 {
        match self {
            Self::Reno => reno::threshold(window),
            Self::Cubic(cubic) => cubic.threshold(window),
        }
    }

    /// `acknowledged` segments were acknowledged while the window was what limited.
    pub(crate) fn grow(&mut self, window: &mut Window, acknowledged: u64, now: Moment) {
        match self {
            Self::Reno => reno::grow(window, acknowledged),
            Self::Cubic(cubic) => cubic.grow(window, acknowledged, now),
        }
    }

    pub(crate) fn note_delay(&mut self, window: &mut Window, sample: &DelaySample) {
        if let Self::Cubic(cubic) = self {
            cubic.note_delay(window, sample);
        }
    }

    /// A timeout: what was known of the path is void.
    pub(crate) fn collapse(&mut self, now: Moment, next: u64) {
        if let Self::Cubic(cubic) = self {
            cubic.collapse(now, next);
        }
    }

    /// Sending goes on after `idle_ns` without anything in flight.
    pub(crate) fn resume(&mut self, idle_ns: u64, now: Moment) {
        if let Self::Cubic(cubic) = self {
            cubic.resume(idle_ns, now);
        }
    }
}
