//! Nodes connected at their ports.

use std::collections::VecDeque;

use crate::error::LinkError;
use crate::frame::Frame;
use crate::node::{Egress, NetworkNode};
use crate::report::ComponentReport;
use crate::stage::Setting;
use crate::time::SimTime;

/// A port of a node in a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId {
    /// The node's number, as given by [`NodeGraph::add`].
    pub node: usize,
    /// The port, counted from 0.
    pub port: usize,
}

/// A frame that leaves the graph at an unconnected port, with the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphEgress {
    /// The time at which its last bit arrives.
    pub at: SimTime,
    /// The port.
    pub port: PortId,
    /// The frame.
    pub frame: Frame,
}

/// Links, switches, hubs and shared media, connected at their ports, in one virtual time.
///
/// Connected ports pass frames to each other; at the others, where hosts are, frames enter and leave.
#[derive(Debug, Default)]
pub struct NodeGraph {
    nodes: Vec<Box<dyn NetworkNode>>,
    /// For each port of each node, the port it is connected to.
    peers: Vec<Vec<Option<PortId>>>,
    /// The time of each node's next event, cached so that finding the earliest touches nothing else.
    next_events: Vec<SimTime>,
    /// For each node, the number of its connected component.
    components: Vec<usize>,
    now: SimTime,
    /// Frames between two connected ports.
    in_transit: VecDeque<(PortId, Frame)>,
    scratch: Vec<Egress>,
}

/// The time of no event.
const NEVER: SimTime = SimTime::MAX;

impl NodeGraph {
    /// A graph without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `node` and returns its number.
    pub fn add(&mut self, node: impl NetworkNode + 'static) -> usize {
        let number = self.nodes.len();
        self.peers.push(vec![None; node.ports()]);
        self.next_events.push(node.next_event().unwrap_or(NEVER));
        self.components.push(number);
        self.nodes.push(Box::new(node));
        number
    }

    /// Connects two ports.
    ///
    /// # Errors
    /// When a port does not exist or is connected, or when this closes a loop, in which a broadcast would circulate for ever.
    pub fn connect(&mut self, one: PortId, other: PortId) -> Result<(), LinkError> {
        for PortId { node, port } in [one, other] {
            let ports = self.peers.get(node).map_or(&[][..], |ports| ports);
            match ports.get(port) {
                None => return Err(LinkError::NoSuchPort { node, port }),
                Some(Some(_)) => return Err(LinkError::PortInUse { node, port }),
                Some(None) => {}
            }
        }
        let (merged, replaced) = (self.components[one.node], self.components[other.node]);
        if merged == replaced {
            return Err(LinkError::Loop(one.node, other.node));
        }
        for component in &mut self.components {
            if *component == replaced {
                *component = merged;
            }
        }
        self.peers[one.node][one.port] = Some(other);
        self.peers[other.node][other.port] = Some(one);
        Ok(())
    }

    /// Takes `frame`, which arrives at `port` at `now`, after processing everything due until then.
    ///
    /// A time before the latest so far counts as the latest: frames of different hosts may come in any order.
    ///
    /// # Errors
    /// When there is no such port.
    pub fn offer(
        &mut self,
        now: SimTime,
        port: PortId,
        frame: Frame,
        out: &mut Vec<GraphEgress>,
    ) -> Result<(), LinkError> {
        let PortId { node, port: number } = port;
        if self
            .peers
            .get(node)
            .is_none_or(|ports| number >= ports.len())
        {
            return Err(LinkError::NoSuchPort { node, port: number });
        }
        self.advance(now, out);
        self.in_transit.push_back((port, frame));
        self.pass(out);
        Ok(())
    }

    /// The time of the next event without another frame; `None` when there is none.
    #[must_use]
    pub fn next_event(&self) -> Option<SimTime> {
        self.next_events
            .iter()
            .copied()
            .min()
            .filter(|at| *at < NEVER)
    }

    /// Processes everything due until `now`, each event at its own time.
    pub fn advance(&mut self, now: SimTime, out: &mut Vec<GraphEgress>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            self.now = self.now.max(at);
            for node in 0..self.nodes.len() {
                if self.next_events[node] == at {
                    self.nodes[node].advance(at, &mut self.scratch);
                    self.collect(node, out);
                }
            }
            self.pass(out);
        }
        self.now = self.now.max(now);
    }

    /// Passes frames from node to node until none is between two ports.
    fn pass(&mut self, out: &mut Vec<GraphEgress>) {
        while let Some((PortId { node, port }, frame)) = self.in_transit.pop_front() {
            self.nodes[node].offer(self.now, port, frame, &mut self.scratch);
            self.collect(node, out);
        }
    }

    /// Forwards the output of `node`.
    fn collect(&mut self, node: usize, out: &mut Vec<GraphEgress>) {
        self.next_events[node] = self.nodes[node].next_event().unwrap_or(NEVER);
        for Egress { at, port, frame } in self.scratch.drain(..) {
            match self.peers[node][port] {
                Some(peer) => self.in_transit.push_back((peer, frame)),
                None => out.push(GraphEgress {
                    at,
                    port: PortId { node, port },
                    frame,
                }),
            }
        }
    }

    /// Changes `setting` for the frames that enter at `port`; `false` when nothing on their path in that node has it.
    ///
    /// # Errors
    /// When the stage concerned cannot have the value.
    pub fn set(&mut self, now: SimTime, port: PortId, setting: Setting) -> Result<bool, LinkError> {
        let Some(node) = self.nodes.get_mut(port.node) else {
            return Ok(false);
        };
        let changed = node.set(now.max(self.now), port.port, setting)?;
        self.next_events[port.node] = node.next_event().unwrap_or(NEVER);
        Ok(changed)
    }

    /// The reports of all nodes until `now`, by number.
    #[must_use]
    pub fn report(&self, now: SimTime) -> Vec<ComponentReport> {
        self.nodes.iter().map(|node| node.report(now)).collect()
    }
}
