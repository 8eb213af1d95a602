//! Nodes: elements with ports.

use std::fmt;

use crate::counters::{FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::report::ComponentReport;
use crate::stage::Setting;
use crate::time::SimTime;

/// A frame that leaves a node, with the time and the port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Egress {
    /// The time at which its last bit arrives.
    pub at: SimTime,
    /// The port, counted from 0.
    pub port: usize,
    /// The frame.
    pub frame: Frame,
}

/// An element that frames enter and leave at ports, such as a link, a switch or a shared medium.
///
/// Time is an argument as for a [`Stage`](crate::stage::Stage). A frame offered at a port that does not exist is neither
/// taken nor counted.
pub trait NetworkNode: fmt::Debug + Send {
    /// The noun that names this node in reports.
    fn kind(&self) -> &'static str;

    /// The number of ports.
    fn ports(&self) -> usize;

    /// Takes `frame`, which arrives at `port` at `now`, after processing everything due until then.
    fn offer(&mut self, now: SimTime, port: usize, frame: Frame, out: &mut Vec<Egress>);

    /// The time of the next event without another frame; `None` when there is none.
    fn next_event(&self) -> Option<SimTime>;

    /// Processes everything due until `now`, each event at its own time.
    fn advance(&mut self, now: SimTime, out: &mut Vec<Egress>);

    /// The frame counters.
    fn counters(&self) -> FrameCounters;

    /// The frames inside.
    fn held(&self) -> FrameTotals;

    /// All counters and statistics until `now`.
    fn report(&self, now: SimTime) -> ComponentReport;

    /// Changes `setting` for the frames that enter at `port`; `false` when nothing on their path has it.
    ///
    /// # Errors
    /// When the stage concerned cannot have the value.
    fn set(&mut self, _now: SimTime, _port: usize, _setting: Setting) -> Result<bool, LinkError> {
        Ok(false)
    }
}
