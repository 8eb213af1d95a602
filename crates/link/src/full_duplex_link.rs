//! Full-duplex links.

use crate::counters::{DropReason, FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::node::{Egress, NetworkNode};
use crate::report::ComponentReport;
use crate::stage::{Setting, Stage, TimedFrame};
use crate::time::SimTime;

/// A full-duplex link between port 0 and port 1: a stage, usually a pipeline, for each direction.
///
/// A PAUSE frame that arrives at a port pauses the direction that starts there, if that has a stage that transmits, and
/// goes no further.
#[derive(Debug)]
pub struct FullDuplexLink {
    /// The stages that frames from port 0 and from port 1 pass.
    directions: [Box<dyn Stage>; 2],
    counters: FrameCounters,
    scratch: Vec<TimedFrame>,
}

impl FullDuplexLink {
    /// A link with `forward` from port 0 to 1 and `backward` from 1 to 0.
    #[must_use]
    pub fn new(forward: impl Stage + 'static, backward: impl Stage + 'static) -> Self {
        Self {
            directions: [Box::new(forward), Box::new(backward)],
            counters: FrameCounters::default(),
            scratch: Vec::new(),
        }
    }

    /// Delivers the output of the direction that starts at `port`, or consumes its PAUSE frames.
    fn deliver(&mut self, port: usize, out: &mut Vec<Egress>) {
        let far = 1 - port;
        for TimedFrame { at, frame } in self.scratch.drain(..) {
            if let Some(quanta) = frame.pause_quanta
                && self.directions[far].pause(at, quanta)
            {
                self.counters.drop(&frame, DropReason::PauseConsumed);
                continue;
            }
            self.counters.delivered.add(&frame);
            out.push(Egress {
                at,
                port: far,
                frame,
            });
        }
    }
}

impl NetworkNode for FullDuplexLink {
    fn kind(&self) -> &'static str {
        "link"
    }

    fn ports(&self) -> usize {
        2
    }

    fn offer(&mut self, now: SimTime, port: usize, frame: Frame, out: &mut Vec<Egress>) {
        if port < 2 {
            self.advance(now, out);
            self.counters.offered.add(&frame);
            self.directions[port].offer(now, frame, &mut self.scratch);
            self.deliver(port, out);
        }
    }

    fn next_event(&self) -> Option<SimTime> {
        self.directions
            .iter()
            .filter_map(|stage| stage.next_event())
            .min()
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<Egress>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            for port in 0..2 {
                self.directions[port].advance(at, &mut self.scratch);
                self.deliver(port, out);
            }
        }
    }

    fn counters(&self) -> FrameCounters {
        let mut counters = self.counters.clone();
        for stage in &self.directions {
            counters.merge_inner(&stage.counters());
        }
        counters
    }

    fn held(&self) -> FrameTotals {
        let mut held = self.directions[0].held();
        held += self.directions[1].held();
        held
    }

    fn report(&self, now: SimTime) -> ComponentReport {
        ComponentReport {
            parts: self
                .directions
                .iter()
                .map(|stage| stage.report(now))
                .collect(),
            ..ComponentReport::new(self.kind(), self.counters(), self.held())
        }
    }

    fn set(&mut self, now: SimTime, port: usize, setting: Setting) -> Result<bool, LinkError> {
        match self.directions.get_mut(port) {
            Some(stage) => stage.set(now, setting),
            None => Ok(false),
        }
    }
}
