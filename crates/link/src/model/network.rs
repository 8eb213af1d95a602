//! A topology in virtual time.

use std::collections::BTreeMap;

use caudal_topology::{LinkEnd, Topology};

use super::builder::Builder;
use super::direction::{DirectionReport, LinkParts};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::graph::{GraphEgress, NodeGraph, PortId};
use crate::report::ComponentReport;
use crate::stage::Setting;
use crate::time::SimTime;

/// The modelled links of a topology, with its switches and hubs, in one virtual time.
///
/// Frames enter and leave at the link ends at hosts and routers.
#[derive(Debug)]
pub struct NetworkModel {
    graph: NodeGraph,
    /// The port of each link end at a host or router.
    ports: BTreeMap<LinkEnd, PortId>,
    /// The same by link and end, and the link ends by node and port, as both are looked up for every frame.
    port_of_end: Vec<[Option<PortId>; 2]>,
    end_of_port: Vec<Vec<Option<LinkEnd>>>,
    links: BTreeMap<usize, LinkParts>,
    scratch: Vec<GraphEgress>,
}

/// A frame that reaches a host or router, with the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostArrival {
    /// The time at which its last bit arrives.
    pub at: SimTime,
    /// The link end.
    pub end: LinkEnd,
    /// The frame.
    pub frame: Frame,
}

impl NetworkModel {
    /// Builds the links of `topology` for which `is_modelled` holds, with every switch and hub.
    ///
    /// Every stage has a random number stream of its own, from the topology's seed, so that the losses of one link do not
    /// depend on another.
    ///
    /// # Errors
    /// When a stage cannot have a value. This does not happen with a resolved topology.
    pub fn build(
        topology: &Topology,
        is_modelled: impl Fn(usize) -> bool,
    ) -> Result<Self, LinkError> {
        let built = Builder::build(topology, is_modelled)?;
        let has_addresses = |at: &LinkEnd| topology.nodes[topology.node_at(*at)].has_addresses();
        let ports: BTreeMap<LinkEnd, PortId> = built
            .open_ports
            .into_iter()
            .filter(|(end, _)| has_addresses(end))
            .collect();
        let mut port_of_end = vec![[None; 2]; topology.links.len()];
        let mut end_of_port: Vec<Vec<Option<LinkEnd>>> = Vec::new();
        for (end, port) in &ports {
            port_of_end[end.link][end.end] = Some(*port);
            if end_of_port.len() <= port.node {
                end_of_port.resize(port.node + 1, Vec::new());
            }
            let ends = &mut end_of_port[port.node];
            if ends.len() <= port.port {
                ends.resize(port.port + 1, None);
            }
            ends[port.port] = Some(*end);
        }
        Ok(Self {
            graph: built.graph,
            ports,
            port_of_end,
            end_of_port,
            links: built.links,
            scratch: Vec::new(),
        })
    }

    /// The link ends at which frames enter and leave.
    pub fn ends(&self) -> impl Iterator<Item = LinkEnd> + '_ {
        self.ports.keys().copied()
    }

    /// The numbers of the modelled links.
    pub fn links(&self) -> impl Iterator<Item = usize> + '_ {
        self.links.keys().copied()
    }

    /// Takes `frame`, which a host or router sends at `end` at `now`; drops it when that end is not modelled.
    pub fn offer(&mut self, now: SimTime, end: LinkEnd, frame: Frame, out: &mut Vec<HostArrival>) {
        let port = self.port_of_end.get(end.link);
        if let Some(port) = port.and_then(|ports| *ports.get(end.end)?)
            && self
                .graph
                .offer(now, port, frame, &mut self.scratch)
                .is_ok()
        {
            self.deliver(out);
        }
    }

    /// The time of the next event without another frame; `None` when there is none.
    #[must_use]
    pub fn next_event(&self) -> Option<SimTime> {
        self.graph.next_event()
    }

    /// Processes everything due until `now`, each event at its own time.
    pub fn advance(&mut self, now: SimTime, out: &mut Vec<HostArrival>) {
        self.graph.advance(now, &mut self.scratch);
        self.deliver(out);
    }

    fn deliver(&mut self, out: &mut Vec<HostArrival>) {
        for GraphEgress { at, port, frame } in self.scratch.drain(..) {
            let ends = self.end_of_port.get(port.node);
            if let Some(end) = ends.and_then(|ends| *ends.get(port.port)?) {
                out.push(HostArrival { at, end, frame });
            }
        }
    }

    /// Changes `setting` of the direction that starts at `from`; `false` when that direction does not have it.
    ///
    /// # Errors
    /// When the stage concerned cannot have the value.
    pub fn set(
        &mut self,
        now: SimTime,
        from: LinkEnd,
        setting: Setting,
    ) -> Result<bool, LinkError> {
        let Some(link) = self.links.get(&from.link) else {
            return Ok(false);
        };
        let stages = PortId {
            node: link.stages,
            port: from.end,
        };
        let line = link.lines[from.end].map(|line| line.port);
        for port in line.into_iter().chain([stages]) {
            if self.graph.set(now, port, setting)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The reports of both directions of `link`, from its first end to its second and back; `None` when it is not modelled.
    ///
    /// `nodes` is the result of [`Self::report`] at the same time. In each direction, every frame offered and added was
    /// delivered, was dropped, or is held. Towards a hub, a frame is delivered once, however many stations receive it; away
    /// from a hub, the frames offered are those that this link received from the others.
    #[must_use]
    pub fn link_report(
        &self,
        nodes: &[ComponentReport],
        link: usize,
    ) -> Option<[DirectionReport; 2]> {
        let link = self.links.get(&link)?;
        Some([0, 1].map(|end| link.direction(end, nodes)))
    }

    /// The reports of all nodes until `now`, by number.
    #[must_use]
    pub fn report(&self, now: SimTime) -> Vec<ComponentReport> {
        self.graph.report(now)
    }
}
