//! Stages: elements with one input and one output.

use std::fmt;
use std::time::Duration;

use caudal_core::units::BitRate;

use crate::counters::{FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::probability::Probability;
use crate::report::ComponentReport;
use crate::time::SimTime;

/// A frame and the time of its arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedFrame {
    /// The time at which its last bit arrives.
    pub at: SimTime,
    /// The frame.
    pub frame: Frame,
}

/// A parameter that can be changed while frames flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// The rate of a serialiser, shaper or policer, from now on; a frame being sent keeps its departure time.
    Rate(BitRate),
    /// The constant delay of the frames that arrive from now on.
    Delay(Duration),
    /// The probability of independent loss.
    Loss(Probability),
}

/// An element that frames pass from one input to one output, such as a queue with a line, a delay or a random loss.
///
/// Time is an argument and never goes back: an earlier time counts as the latest so far. Frames come out in order of
/// their time, and none after the time given.
pub trait Stage: fmt::Debug + Send {
    /// The noun that names this stage in reports.
    fn kind(&self) -> &'static str;

    /// Takes `frame`, which arrives at `now`, after processing everything due until then.
    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>);

    /// The frame counters.
    fn counters(&self) -> FrameCounters;

    /// The time of the next event without another frame; `None` when there is none.
    fn next_event(&self) -> Option<SimTime> {
        None
    }

    /// Processes everything due until `now`, each event at its own time.
    fn advance(&mut self, _now: SimTime, _out: &mut Vec<TimedFrame>) {}

    /// The frames inside.
    fn held(&self) -> FrameTotals {
        FrameTotals::default()
    }

    /// All counters and statistics until `now`.
    fn report(&self, _now: SimTime) -> ComponentReport {
        ComponentReport::new(self.kind(), self.counters(), self.held())
    }

    /// Pauses transmission from `now` on for `quanta` times 512 bit times; `false` when this stage does not transmit.
    fn pause(&mut self, _now: SimTime, _quanta: u16) -> bool {
        false
    }

    /// Changes `setting` at `now`; `false` when this stage does not have it.
    ///
    /// # Errors
    /// When this stage cannot have the value.
    fn set(&mut self, _now: SimTime, _setting: Setting) -> Result<bool, LinkError> {
        Ok(false)
    }
}
