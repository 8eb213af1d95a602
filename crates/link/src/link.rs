//! Two directions between two ports.

use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, DropReason, Report, Traffic};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::Moment;
use crate::node::{Exit, Node};

/// A full-duplex link between port 0 and port 1: a cell, usually a chain, for each direction.
///
/// A PAUSE frame that arrives where its direction has something that sends is obeyed there and goes no further.
#[derive(Debug)]
pub struct Link {
    /// What frames from port 0, and from port 1, go through.
    from: [Box<dyn Cell>; 2],
    counters: Counters,
    scratch: Vec<Delivery>,
}

impl Link {
    /// A link whose frames go through `forward` from port 0 to 1 and through `backward` from 1 to 0.
    #[must_use]
    pub fn new(forward: impl Cell + 'static, backward: impl Cell + 'static) -> Self {
        Self {
            from: [Box::new(forward), Box::new(backward)],
            counters: Counters::default(),
            scratch: Vec::new(),
        }
    }

    /// Lets out what came through the direction that begins at `port`, or obeys it.
    fn arrive(&mut self, port: usize, out: &mut Vec<Exit>) {
        let far = 1 - port;
        for Delivery { at, frame } in self.scratch.drain(..) {
            if let Some(quanta) = frame.pause
                && self.from[far].pause(at, quanta)
            {
                self.counters.drop(&frame, DropReason::Obeyed);
                continue;
            }
            self.counters.delivered.count(&frame);
            out.push(Exit {
                at,
                port: far,
                frame,
            });
        }
    }
}

impl Node for Link {
    fn kind(&self) -> &'static str {
        "link"
    }

    fn ports(&self) -> usize {
        2
    }

    fn offer(&mut self, now: Moment, port: usize, frame: Frame, out: &mut Vec<Exit>) {
        if port < 2 {
            self.advance(now, out);
            self.counters.offered.count(&frame);
            self.from[port].offer(now, frame, &mut self.scratch);
            self.arrive(port, out);
        }
    }

    fn next_event(&self) -> Option<Moment> {
        self.from.iter().filter_map(|cell| cell.next_event()).min()
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Exit>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            for port in 0..2 {
                self.from[port].advance(at, &mut self.scratch);
                self.arrive(port, out);
            }
        }
    }

    fn counters(&self) -> Counters {
        let mut counters = self.counters.clone();
        for cell in &self.from {
            counters.take_in(&cell.counters());
        }
        counters
    }

    fn held(&self) -> Traffic {
        let mut held = self.from[0].held();
        held += self.from[1].held();
        held
    }

    fn report(&self, now: Moment) -> Report {
        Report {
            parts: self.from.iter().map(|cell| cell.report(now)).collect(),
            ..Report::of(self.kind(), self.counters(), self.held())
        }
    }

    fn set(&mut self, now: Moment, port: usize, setting: Setting) -> Result<bool, LinkError> {
        match self.from.get_mut(port) {
            Some(cell) => cell.set(now, setting),
            None => Ok(false),
        }
    }
}
