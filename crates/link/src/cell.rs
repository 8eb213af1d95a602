//! One way in, one way out.

use std::fmt;
use std::time::Duration;

use caudal_core::units::BitRate;

use crate::counters::{Counters, Report, Traffic};
use crate::dice::Probability;
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::Moment;

/// A frame that comes out, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// When its last bit arrived.
    pub at: Moment,
    /// The frame.
    pub frame: Frame,
}

/// What may be changed while frames flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// The rate of a serialiser, shaper or policer, from now on; what is being sent keeps its departure.
    Rate(BitRate),
    /// The constant delay of the frames that come from now on.
    Delay(Duration),
    /// The probability of independent loss.
    Loss(Probability),
}

/// Something that frames pass through, told the time.
///
/// Times that go back count as the last one. Deliveries come out in order of their time, none later than the time told.
pub trait Cell: fmt::Debug + Send {
    /// The noun this cell is known by in reports.
    fn kind(&self) -> &'static str;

    /// Takes `frame`, which arrives at `now`, after everything that was due until then.
    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>);

    /// What was counted.
    fn counters(&self) -> Counters;

    /// When something will happen without another frame; `None` when nothing will.
    fn next_event(&self) -> Option<Moment> {
        None
    }

    /// Does everything that is due until `now`, each at its own time.
    fn advance(&mut self, _now: Moment, _out: &mut Vec<Delivery>) {}

    /// The frames inside.
    fn held(&self) -> Traffic {
        Traffic::default()
    }

    /// Everything that was counted, until `now`.
    fn report(&self, _now: Moment) -> Report {
        Report::of(self.kind(), self.counters(), self.held())
    }

    /// Sends nothing from `now` on for `quanta` times 512 bit times; `false` when this cell does not send by itself.
    fn pause(&mut self, _now: Moment, _quanta: u16) -> bool {
        false
    }

    /// Changes `setting` at `now`; `false` when this cell does not have it.
    ///
    /// # Errors
    /// When the value is none this cell can have.
    fn set(&mut self, _now: Moment, _setting: Setting) -> Result<bool, LinkError> {
        Ok(false)
    }
}
