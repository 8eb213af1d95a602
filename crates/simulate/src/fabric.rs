//! The network under the flows: links, who sits at their ends, and the ways between them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use caudal_link::assembly::{Assembly, LinkEnd, Reached};
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::moment::Moment;
use caudal_topology::{Role, Topology};

use crate::error::SimulateError;
use crate::outcome::LinkOutcome;

/// A way out of a node: the end a packet leaves by and the station it is handed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    from: LinkEnd,
    to: LinkEnd,
}

/// Links put together, with hosts and routers.
#[derive(Debug)]
pub(crate) struct Fabric {
    assembly: Assembly,
    names: Vec<String>,
    /// The node at each end of each link.
    nodes: Vec<[usize; 2]>,
    mtus: Vec<u32>,
    forwards: Vec<bool>,
    /// For each node, the equally short ways to every other.
    ways: Vec<Vec<Vec<Way>>>,
    pub(crate) disregarded: u64,
}

/// The address of the station at an end of a link.
fn address((link, end): LinkEnd) -> MacAddress {
    // Far fewer links than a u32 counts.
    MacAddress::station((link * 2 + end) as u32)
}

impl Fabric {
    pub(crate) fn of(topology: &Topology) -> Result<Self, SimulateError> {
        let nodes: Vec<[usize; 2]> = topology
            .links
            .iter()
            .map(|link| [link.ends[0].node, link.ends[1].node])
            .collect();
        let role = |is: fn(&Role) -> bool| topology.nodes.iter().map(move |node| is(&node.role));
        Ok(Self {
            assembly: Assembly::of(topology, |_| true)?,
            names: topology
                .links
                .iter()
                .map(|link| link.name.clone())
                .collect(),
            mtus: topology.links.iter().map(|link| link.mtu).collect(),
            forwards: role(|role| matches!(role, Role::Router(_))).collect(),
            ways: ways(topology, &nodes),
            nodes,
            disregarded: 0,
        })
    }

    /// The largest packet on the way between two nodes; `None` when there is no way.
    pub(crate) fn mtu(&self, from: usize, to: usize) -> Option<u32> {
        let (mut at, mut least) = (from, u32::MAX);
        // No way passes a node twice.
        for _ in 0..=self.ways.len() {
            if at == to {
                return Some(least);
            }
            let way = self.ways.get(at)?.get(to)?.first()?;
            least = least.min(self.mtus[way.from.0]).min(self.mtus[way.to.0]);
            at = self.nodes[way.to.0][way.to.1];
        }
        None
    }

    /// Sends a frame of `node` that is on its way to node `to`, from whatever end leads there.
    pub(crate) fn send(
        &mut self,
        now: Moment,
        node: usize,
        to: usize,
        frame: Frame,
        out: &mut Vec<Reached>,
    ) {
        let ways = &self.ways[node][to];
        let chosen = match ways.len() {
            0 => return self.disregarded += 1,
            1 => 0,
            // The upper half of the hash, the lower may choose among parallel paths of a link.
            many => (frame.flow >> 32) as usize % many,
        };
        let way = ways[chosen];
        let frame = frame.between(address(way.from), address(way.to));
        self.assembly.offer(now, way.from, frame, out);
    }

    /// Says at every end where somebody sits that he is there.
    pub(crate) fn announce(&mut self, now: Moment, out: &mut Vec<Reached>) {
        let ends: Vec<LinkEnd> = self.assembly.ends().collect();
        for end in ends {
            let frame = Frame::of_length(u64::MAX, 64).between(address(end), MacAddress::BROADCAST);
            self.assembly.offer(now, end, frame, out);
        }
    }

    /// The node a frame is for that reached an end; `None`, and counted, when it is for nobody there or damaged.
    pub(crate) fn takes(&mut self, reached: &Reached) -> Option<usize> {
        let (link, end) = reached.end;
        if reached.frame.destination != address(reached.end) || reached.frame.altered {
            self.disregarded += 1;
            return None;
        }
        Some(self.nodes[link][end])
    }

    /// Whether `node` passes on what is for others.
    pub(crate) fn forwards(&self, node: usize) -> bool {
        self.forwards[node]
    }

    pub(crate) fn next_event(&self) -> Option<Moment> {
        self.assembly.next_event()
    }

    pub(crate) fn advance(&mut self, now: Moment, out: &mut Vec<Reached>) {
        self.assembly.advance(now, out);
    }

    /// What every link did until `now`.
    pub(crate) fn links(&self, now: Moment) -> Vec<LinkOutcome> {
        let nodes = self.assembly.report(now);
        let outcome = |(link, name): (usize, &String)| {
            let courses = self.assembly.link_report(&nodes, link)?;
            let name = name.clone();
            Some(LinkOutcome { name, courses })
        };
        self.names.iter().enumerate().filter_map(outcome).collect()
    }
}

/// For each node, the equally short ways to the first address of every other.
fn ways(topology: &Topology, nodes: &[[usize; 2]]) -> Vec<Vec<Vec<Way>>> {
    let count = topology.nodes.len();
    let node_at = |(link, end): LinkEnd| nodes[link][end];
    let mut stations: BTreeMap<Ipv4Addr, LinkEnd> = BTreeMap::new();
    // The segment of each node's first address, and that address's end.
    let mut homes: Vec<Option<(usize, LinkEnd)>> = vec![None; count];
    for (number, segment) in topology.segments.iter().enumerate() {
        for (position, at) in segment.members.iter().enumerate() {
            stations.insert(segment.address4(position), *at);
            let home = &mut homes[node_at(*at)];
            if home.is_none_or(|(_, known)| *at < known) {
                *home = Some((number, *at));
            }
        }
    }
    let routes = topology.routes();
    let way_to = |node: usize, to: usize| -> Vec<Way> {
        let Some((segment, to)) = homes[to].filter(|_| node != to) else {
            return Vec::new();
        };
        let members = &topology.segments[segment].members;
        if let Some(from) = members.iter().find(|at| node_at(**at) == node) {
            return vec![Way { from: *from, to }];
        }
        let route = routes[node].iter().find(|route| route.segment == segment);
        let hops = route.map_or(&[][..], |route| &route.hops);
        hops.iter()
            .filter_map(|hop| {
                let (from, to) = (hop.from, *stations.get(&hop.to.0)?);
                Some(Way { from, to })
            })
            .collect()
    };
    (0..count)
        .map(|node| (0..count).map(|to| way_to(node, to)).collect())
        .collect()
}
