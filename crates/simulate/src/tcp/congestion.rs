//! The congestion control of a connection.

use caudal_link::time::SimTime;

use super::cubic::{Cubic, DelaySample};
use super::reno;
use super::settings::CongestionControl;
use super::window::Window;

/// A congestion control with its state.
#[derive(Debug, Clone)]
pub(super) enum Controller {
    Reno,
    Cubic(Box<Cubic>),
}

impl Controller {
    pub(super) fn new(congestion: CongestionControl) -> Self {
        match congestion {
            CongestionControl::Reno => Self::Reno,
            CongestionControl::Cubic => Self::Cubic(Box::default()),
        }
    }

    /// The slow-start threshold after a loss.
    pub(super) fn threshold(&mut self, window: &Window) -> u64 {
        match self {
            Self::Reno => reno::threshold(window),
            Self::Cubic(cubic) => cubic.threshold(window),
        }
    }

    /// Grows the window after `acknowledged` segments were acknowledged while the window was the limit.
    pub(super) fn grow(&mut self, window: &mut Window, acknowledged: u64, now: SimTime) {
        match self {
            Self::Reno => reno::grow(window, acknowledged),
            Self::Cubic(cubic) => cubic.grow(window, acknowledged, now),
        }
    }

    /// Takes a delay sample.
    pub(super) fn on_delay(&mut self, window: &mut Window, sample: &DelaySample) {
        if let Self::Cubic(cubic) = self {
            cubic.on_delay(window, sample);
        }
    }

    /// Forgets the path after a timeout.
    pub(super) fn on_timeout(&mut self, now: SimTime, next: u64) {
        if let Self::Cubic(cubic) = self {
            cubic.on_timeout(now, next);
        }
    }

    /// Accounts for `idle_ns` with nothing in flight before sending resumes at `now`.
    pub(super) fn on_idle(&mut self, idle_ns: u64, now: SimTime) {
        if let Self::Cubic(cubic) = self {
            cubic.on_idle(idle_ns, now);
        }
    }
}
