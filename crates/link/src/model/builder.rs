//! From a topology to a graph of nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_topology::{
    Duplex, LateCollision, LinkEnd, NodeRole, StationDuplex, SwitchSetup, Topology,
};

use super::direction::{LinkParts, SwitchLine};
use super::stages::{self, DirectionContext};
use super::streams::{RngStreams, stream};
use crate::error::LinkError;
use crate::full_duplex_link::FullDuplexLink;
use crate::graph::{NodeGraph, PortId};
use crate::hub::hub_of_stations;
use crate::medium::{Medium, MediumSetup, StationSetup};
use crate::queue::Queue;
use crate::serialiser::Serialiser;
use crate::switch::{Switch, SwitchPort};

/// A graph under construction.
pub(super) struct Builder<'a> {
    topology: &'a Topology,
    pub(super) graph: NodeGraph,
    /// The unconnected port of each link end.
    pub(super) open_ports: BTreeMap<LinkEnd, PortId>,
    pub(super) links: BTreeMap<usize, LinkParts>,
}

impl<'a> Builder<'a> {
    /// Builds the links for which `is_modelled` holds, then every hub, then every switch.
    pub(super) fn build(
        topology: &'a Topology,
        is_modelled: impl Fn(usize) -> bool,
    ) -> Result<Self, LinkError> {
        let mut builder = Self {
            topology,
            graph: NodeGraph::new(),
            open_ports: BTreeMap::new(),
            links: BTreeMap::new(),
        };
        for link in (0..topology.links.len()).filter(|link| is_modelled(*link)) {
            builder.add_link(link)?;
        }
        for (number, node) in topology.nodes.iter().enumerate() {
            if let NodeRole::Hub(rate) = node.role {
                builder.add_hub(number, rate)?;
            }
        }
        for (number, node) in topology.nodes.iter().enumerate() {
            if let NodeRole::Switch(setup) = node.role {
                builder.add_switch(number, setup)?;
            }
        }
        Ok(builder)
    }

    fn role(&self, at: LinkEnd) -> &NodeRole {
        &self.topology.nodes[self.topology.node_at(at)].role
    }

    /// The random number streams of the direction that starts at `from`.
    fn streams(&self, from: LinkEnd) -> RngStreams {
        RngStreams {
            seed: self.topology.seed,
            from,
        }
    }

    /// The queue of the direction that starts at `from`.
    fn queue(&self, from: LinkEnd) -> Result<Queue, LinkError> {
        let link = &self.topology.links[from.link];
        let impairments = &link.directions[from.end];
        stages::queue(impairments, link.mtu, self.streams(from))
    }

    fn add_link(&mut self, number: usize) -> Result<(), LinkError> {
        let link = &self.topology.links[number];
        let ends = [0, 1].map(|end| LinkEnd::new(number, end));
        let [forward, backward] = ends.map(|from| {
            let context = DirectionContext {
                mtu: link.mtu,
                is_half_duplex: link.duplex != Duplex::Full,
                is_behind_switch: matches!(self.role(from), NodeRole::Switch(_)),
                streams: self.streams(from),
            };
            stages::pipeline(&link.directions[from.end], context)
        });
        let node = self.graph.add(FullDuplexLink::new(forward?, backward?));
        for at in ends {
            let port = at.end;
            self.open_ports.insert(at, PortId { node, port });
        }
        let mut parts = LinkParts {
            stages: node,
            lines: [None; 2],
            stations: [None; 2],
            hub_stations: [None; 2],
        };
        let is_at_hub = ends
            .iter()
            .any(|at| matches!(self.role(*at), NodeRole::Hub(_)));
        if let Duplex::Half {
            ends: duplex,
            late_collision,
            ..
        } = link.duplex
            && !is_at_hub
        {
            parts.stations = self.add_medium(number, duplex, late_collision)?.map(Some);
        }
        self.links.insert(number, parts);
        Ok(())
    }

    /// Adds the medium of half-duplex link `number`: first end, medium, stages, second end.
    fn add_medium(
        &mut self,
        number: usize,
        duplex: [StationDuplex; 2],
        late_collision: LateCollision,
    ) -> Result<[PortId; 2], LinkError> {
        let first_end = LinkEnd::new(number, 0);
        let link = &self.topology.links[number];
        let forward = &link.directions[0];
        let setup = MediumSetup {
            rate: forward.constant_rate().unwrap_or(BitRate::ZERO),
            repeater_delay: Duration::ZERO,
            late_collision,
        };
        let mut stations = Vec::with_capacity(2);
        for (end, duplex) in duplex.into_iter().enumerate() {
            stations.push(StationSetup {
                duplex,
                delay: forward.delay / 2,
                readiness: link.duplex.readiness_at(end),
                queue: self.queue(LinkEnd::new(number, end))?,
            });
        }
        let rng = self.streams(first_end).rng(stream::MAC);
        let node = self.graph.add(Medium::new(setup, stations, rng)?);
        let ports = [0, 1].map(|port| PortId { node, port });
        if let Some(stages) = self.open_ports.insert(first_end, ports[0]) {
            self.graph.connect(ports[1], stages)?;
        }
        Ok(ports)
    }

    /// Adds the hub `node`, with a station for every link.
    fn add_hub(&mut self, node: usize, rate: BitRate) -> Result<(), LinkError> {
        let attached: Vec<LinkEnd> = self.topology.attachments(node).collect();
        if attached.len() < 2 {
            self.close(&attached);
            return Ok(());
        }
        let mut stations = Vec::with_capacity(attached.len());
        for at in &attached {
            // The station is at the far end of the link: its frames go towards the hub.
            let from = at.opposite();
            let link = &self.topology.links[from.link];
            stations.push(StationSetup {
                duplex: StationDuplex::Half,
                delay: link.directions[from.end].delay,
                readiness: link.duplex.readiness_at(from.end),
                queue: self.queue(from)?,
            });
        }
        // Streams of hubs are numbered by node, and share their numbers with no other stage.
        let rng = self.streams(LinkEnd::new(node, 1)).rng(stream::MAC);
        let medium = self.graph.add(hub_of_stations(rate, stations, rng)?);
        for (port, at) in attached.into_iter().enumerate() {
            let station = PortId { node: medium, port };
            if let Some(open) = self.open_ports.remove(&at) {
                self.graph.connect(station, open)?;
            }
            if let Some(link) = self.links.get_mut(&at.link) {
                link.hub_stations[at.end] = Some(station);
            }
        }
        Ok(())
    }

    /// Adds the switch `node`, with a line for every full-duplex link that has a rate.
    fn add_switch(&mut self, node: usize, setup: SwitchSetup) -> Result<(), LinkError> {
        let attached: Vec<LinkEnd> = self.topology.attachments(node).collect();
        if attached.len() < 2 {
            self.close(&attached);
            return Ok(());
        }
        let mut ports = Vec::with_capacity(attached.len());
        for at in &attached {
            let link = &self.topology.links[at.link];
            ports.push(match &link.directions[at.end].rate {
                Some(rate) if link.duplex == Duplex::Full => {
                    let line = Serialiser::new(stages::rate_trace(rate)?, self.queue(*at)?);
                    SwitchPort::Line(Box::new(line))
                }
                _ => SwitchPort::Through,
            });
        }
        let has_line: Vec<bool> = ports
            .iter()
            .map(|port| matches!(port, SwitchPort::Line(_)))
            .collect();
        let switch = self.graph.add(Switch::new(setup, ports)?);
        let mut lines = 0;
        for (number, at) in attached.into_iter().enumerate() {
            let port = PortId {
                node: switch,
                port: number,
            };
            if let Some(open) = self.open_ports.remove(&at) {
                self.graph.connect(port, open)?;
            }
            if has_line[number] {
                if let Some(link) = self.links.get_mut(&at.link) {
                    link.lines[at.end] = Some(SwitchLine { port, part: lines });
                }
                lines += 1;
            }
        }
        Ok(())
    }

    /// Closes the ports of a switch or hub with one link, which forwards to nobody.
    fn close(&mut self, attached: &[LinkEnd]) {
        for at in attached {
            self.open_ports.remove(at);
        }
    }
}
