//! Nodes joined at their ports.

use std::collections::VecDeque;

use crate::cell::Setting;
use crate::counters::Report;
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::Moment;
use crate::node::{Exit, Node};

/// A port of a node in a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The node, by the number it was added under.
    pub node: usize,
    /// The port, counted from 0.
    pub port: usize,
}

/// A frame that leaves the network at a port nothing is joined to, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// When its last bit arrived.
    pub at: Moment,
    /// Where it left.
    pub place: Place,
    /// The frame.
    pub frame: Frame,
}

/// Links, switches, hubs and media, told the time together.
///
/// Ports that are joined pass frames to each other; the others are where hosts are, and where frames enter and leave.
#[derive(Debug, Default)]
pub struct Network {
    nodes: Vec<Box<dyn Node>>,
    joined: Vec<Vec<Option<Place>>>,
    /// Each node's next event, kept so that looking for the first touches nothing else.
    next: Vec<Moment>,
    /// For each node the number of the connected part it is in.
    part: Vec<usize>,
    now: Moment,
    underway: VecDeque<(Place, Frame)>,
    scratch: Vec<Exit>,
}

/// No event: no later moment can be told.
const NEVER: Moment = Moment::from_ns(u64::MAX);

impl Network {
    /// No nodes yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `node` and gives its number.
    pub fn add(&mut self, node: impl Node + 'static) -> usize {
        let number = self.nodes.len();
        self.joined.push(vec![None; node.ports()]);
        self.next.push(node.next_event().unwrap_or(NEVER));
        self.part.push(number);
        self.nodes.push(Box::new(node));
        number
    }

    /// Joins two ports.
    ///
    /// # Errors
    /// When a port does not exist or is taken, or when this closes a loop, in which a broadcast would circle for ever.
    pub fn join(&mut self, one: Place, other: Place) -> Result<(), LinkError> {
        for Place { node, port } in [one, other] {
            let ports = self.joined.get(node).map_or(&[][..], |ports| ports);
            match ports.get(port) {
                None => return Err(LinkError::NoSuchPort { node, port }),
                Some(Some(_)) => return Err(LinkError::PortTaken { node, port }),
                Some(None) => {}
            }
        }
        let (kept, replaced) = (self.part[one.node], self.part[other.node]);
        if kept == replaced {
            return Err(LinkError::Loop(one.node, other.node));
        }
        for part in &mut self.part {
            if *part == replaced {
                *part = kept;
            }
        }
        self.joined[one.node][one.port] = Some(other);
        self.joined[other.node][other.port] = Some(one);
        Ok(())
    }

    /// Takes `frame`, which arrives at `place` at `now`, after everything that was due until then.
    ///
    /// A time before the last one counts as the last one: hosts' clocks may be read in any order.
    ///
    /// # Errors
    /// When there is no such place.
    pub fn offer(
        &mut self,
        now: Moment,
        place: Place,
        frame: Frame,
        out: &mut Vec<Arrival>,
    ) -> Result<(), LinkError> {
        let Place { node, port } = place;
        if self
            .joined
            .get(node)
            .is_none_or(|ports| port >= ports.len())
        {
            return Err(LinkError::NoSuchPort { node, port });
        }
        self.advance(now, out);
        self.underway.push_back((place, frame));
        self.pass(out);
        Ok(())
    }

    /// When something will happen without another frame; `None` when nothing will.
    #[must_use]
    pub fn next_event(&self) -> Option<Moment> {
        self.next.iter().copied().min().filter(|at| *at < NEVER)
    }

    /// Does everything that is due until `now`, each at its own time.
    pub fn advance(&mut self, now: Moment, out: &mut Vec<Arrival>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            self.now = self.now.max(at);
            for node in 0..self.nodes.len() {
                if self.next[node] == at {
                    self.nodes[node].advance(at, &mut self.scratch);
                    self.left(node, out);
                }
            }
            self.pass(out);
        }
        self.now = self.now.max(now);
    }

    /// Passes frames from port to port until none is between two nodes.
    fn pass(&mut self, out: &mut Vec<Arrival>) {
        while let Some((Place { node, port }, frame)) = self.underway.pop_front() {
            self.nodes[node].offer(self.now, port, frame, &mut self.scratch);
            self.left(node, out);
        }
    }

    /// Sends what came out of `node` on its way.
    fn left(&mut self, node: usize, out: &mut Vec<Arrival>) {
        self.next[node] = self.nodes[node].next_event().unwrap_or(NEVER);
        for Exit { at, port, frame } in self.scratch.drain(..) {
            match self.joined[node][port] {
                Some(peer) => self.underway.push_back((peer, frame)),
                None => out.push(Arrival {
                    at,
                    place: Place { node, port },
                    frame,
                }),
            }
        }
    }

    /// Changes `setting` of what frames from `place` go through; `false` when there is no such thing.
    ///
    /// # Errors
    /// When the value is none it can have.
    pub fn set(&mut self, now: Moment, place: Place, setting: Setting) -> Result<bool, LinkError> {
        let Some(node) = self.nodes.get_mut(place.node) else {
            return Ok(false);
        };
        let changed = node.set(now.max(self.now), place.port, setting)?;
        self.next[place.node] = node.next_event().unwrap_or(NEVER);
        Ok(changed)
    }

    /// Everything that was counted until `now`, in the order in which nodes were added.
    #[must_use]
    pub fn report(&self, now: Moment) -> Vec<Report> {
        self.nodes.iter().map(|node| node.report(now)).collect()
    }
}
