//! Something with ports.

use std::fmt;

use crate::cell::Setting;
use crate::counters::{Counters, Report, Traffic};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::Moment;

/// A frame that comes out at a port, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// When its last bit arrived.
    pub at: Moment,
    /// The port, counted from 0.
    pub port: usize,
    /// The frame.
    pub frame: Frame,
}

/// Something that frames enter and leave at ports, told the time as a [`Cell`](crate::cell::Cell) is.
///
/// A frame offered at a port that does not exist is not taken and not counted.
pub trait Node: fmt::Debug + Send {
    /// The noun this node is known by in reports.
    fn kind(&self) -> &'static str;

    /// How many ports it has.
    fn ports(&self) -> usize;

    /// Takes `frame`, which arrives at `port` at `now`, after everything that was due until then.
    fn offer(&mut self, now: Moment, port: usize, frame: Frame, out: &mut Vec<Exit>);

    /// When something will happen without another frame; `None` when nothing will.
    fn next_event(&self) -> Option<Moment>;

    /// Does everything that is due until `now`, each at its own time.
    fn advance(&mut self, now: Moment, out: &mut Vec<Exit>);

    /// What was counted.
    fn counters(&self) -> Counters;

    /// The frames inside.
    fn held(&self) -> Traffic;

    /// Everything that was counted, until `now`.
    fn report(&self, now: Moment) -> Report;

    /// Changes `setting` of what frames from `port` go through; `false` when there is no such thing.
    ///
    /// # Errors
    /// When the value is none it can have.
    fn set(&mut self, _now: Moment, _port: usize, _setting: Setting) -> Result<bool, LinkError> {
        Ok(false)
    }
}
