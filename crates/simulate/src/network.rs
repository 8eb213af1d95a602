//! The network that flows cross: links, the hosts and routers at their ends, and forwarding.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use caudal_link::frame::{Frame, MacAddress};
use caudal_link::model::{HostArrival, NetworkModel};
use caudal_link::time::SimTime;
use caudal_topology::{LinkEnd, NodeRole, Topology};

use crate::error::SimulateError;
use crate::result::LinkResult;

/// A next hop: the link end by which a packet leaves a node, and that of the station it is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ForwardingEntry {
    from: LinkEnd,
    to: LinkEnd,
}

/// A modelled network with its hosts and routers.
#[derive(Debug)]
pub(crate) struct SimNetwork {
    model: NetworkModel,
    /// The name of each link.
    names: Vec<String>,
    /// The node at each end of each link.
    nodes: Vec<[usize; 2]>,
    /// The MTU of each link.
    mtus: Vec<u32>,
    is_router: Vec<bool>,
    /// For each node, the next hops towards every other node, all on shortest paths.
    forwarding: Vec<Vec<Vec<ForwardingEntry>>>,
    pub(crate) ignored_frames: u64,
}

/// The Ethernet address of the station at an end of a link.
fn address(at: LinkEnd) -> MacAddress {
    // A topology has far fewer than 2^31 links.
    MacAddress::station((at.link * 2 + at.end) as u32)
}

impl SimNetwork {
    pub(crate) fn build(topology: &Topology) -> Result<Self, SimulateError> {
        let nodes: Vec<[usize; 2]> = topology
            .links
            .iter()
            .map(|link| [link.ends[0].node, link.ends[1].node])
            .collect();
        Ok(Self {
            model: NetworkModel::build(topology, |_| true)?,
            names: topology
                .links
                .iter()
                .map(|link| link.name.clone())
                .collect(),
            mtus: topology.links.iter().map(|link| link.mtu).collect(),
            is_router: topology
                .nodes
                .iter()
                .map(|node| matches!(node.role, NodeRole::Router(_)))
                .collect(),
            forwarding: forwarding(topology),
            nodes,
            ignored_frames: 0,
        })
    }

    /// The largest packet on the path between two nodes; `None` when there is no path.
    pub(crate) fn mtu(&self, from: usize, to: usize) -> Option<u32> {
        let (mut at, mut mtu) = (from, u32::MAX);
        // A path passes no node twice.
        for _ in 0..=self.forwarding.len() {
            if at == to {
                return Some(mtu);
            }
            let entry = self.forwarding.get(at)?.get(to)?.first()?;
            mtu = mtu
                .min(self.mtus[entry.from.link])
                .min(self.mtus[entry.to.link]);
            at = self.node_at(entry.to);
        }
        None
    }

    /// Sends a frame from `node` to the next hop towards node `to`.
    pub(crate) fn send(
        &mut self,
        now: SimTime,
        node: usize,
        to: usize,
        frame: Frame,
        out: &mut Vec<HostArrival>,
    ) {
        let entries = &self.forwarding[node][to];
        let chosen = match entries.len() {
            0 => return self.ignored_frames += 1,
            1 => 0,
            // The upper half of the hash, as a link may use the lower half to choose among its parallel paths.
            count => (frame.flow >> 32) as usize % count,
        };
        let ForwardingEntry { from, to } = entries[chosen];
        let frame = frame.with_addresses(address(from), address(to));
        self.model.offer(now, from, frame, out);
    }

    /// Sends a broadcast from every host and router on all its links.
    pub(crate) fn announce(&mut self, now: SimTime, out: &mut Vec<HostArrival>) {
        let ends: Vec<LinkEnd> = self.model.ends().collect();
        for end in ends {
            let frame = Frame::with_length(u64::MAX, 64)
                .with_addresses(address(end), MacAddress::BROADCAST);
            self.model.offer(now, end, frame, out);
        }
    }

    /// The node that receives `arrival`; `None`, and counted, for a damaged frame and one addressed to another station.
    pub(crate) fn receiver(&mut self, arrival: &HostArrival) -> Option<usize> {
        let HostArrival { end, frame, .. } = arrival;
        if frame.destination != address(*end) || frame.corrupted {
            self.ignored_frames += 1;
            return None;
        }
        Some(self.node_at(*end))
    }

    fn node_at(&self, at: LinkEnd) -> usize {
        self.nodes[at.link][at.end]
    }

    /// `true` when `node` forwards packets for others.
    pub(crate) fn is_router(&self, node: usize) -> bool {
        self.is_router[node]
    }

    pub(crate) fn next_event(&self) -> Option<SimTime> {
        self.model.next_event()
    }

    pub(crate) fn advance(&mut self, now: SimTime, out: &mut Vec<HostArrival>) {
        self.model.advance(now, out);
    }

    /// The results of all links until `now`.
    pub(crate) fn links(&self, now: SimTime) -> Vec<LinkResult> {
        let nodes = self.model.report(now);
        let result = |(link, name): (usize, &String)| {
            let directions = self.model.link_report(&nodes, link)?;
            let name = name.clone();
            Some(LinkResult { name, directions })
        };
        self.names.iter().enumerate().filter_map(result).collect()
    }
}

/// For each node, the next hops on shortest paths to the first address of every other node.
fn forwarding(topology: &Topology) -> Vec<Vec<Vec<ForwardingEntry>>> {
    let count = topology.nodes.len();
    let mut stations: BTreeMap<Ipv4Addr, LinkEnd> = BTreeMap::new();
    // The segment of each node's first address, and the link end with that address.
    let mut homes: Vec<Option<(usize, LinkEnd)>> = vec![None; count];
    for (number, segment) in topology.segments.iter().enumerate() {
        for (position, at) in segment.members.iter().enumerate() {
            stations.insert(segment.address4(position), *at);
            let home = &mut homes[topology.node_at(*at)];
            if home.is_none_or(|(_, first)| *at < first) {
                *home = Some((number, *at));
            }
        }
    }
    let routes = topology.routes();
    let next_hops = |node: usize, to: usize| -> Vec<ForwardingEntry> {
        let Some((segment, to)) = homes[to].filter(|_| node != to) else {
            return Vec::new();
        };
        let mut members = topology.segments[segment].members.iter();
        if let Some(from) = members.find(|at| topology.node_at(**at) == node) {
            return vec![ForwardingEntry { from: *from, to }];
        }
        let route = routes[node].iter().find(|route| route.segment == segment);
        let next_hops = route.map_or(&[][..], |route| &route.next_hops);
        next_hops
            .iter()
            .filter_map(|hop| {
                let (from, to) = (hop.via, *stations.get(&hop.v4)?);
                Some(ForwardingEntry { from, to })
            })
            .collect()
    };
    (0..count)
        .map(|node| (0..count).map(|to| next_hops(node, to)).collect())
        .collect()
}
