//! Routes between broadcast domains.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::link::LinkEnd;
use crate::node::NodeRole;
use crate::topology::{Segment, Topology};

/// The route to a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentRoute {
    /// The segment's number.
    pub segment: usize,
    /// The next hops of all paths of equal, minimal length.
    pub next_hops: Vec<NextHop>,
}

/// A router that packets are sent to, and the interface they leave by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextHop {
    /// The link end the packets leave by.
    pub via: LinkEnd,
    /// The router's IPv4 address on that segment.
    pub v4: Ipv4Addr,
    /// The router's IPv6 address on that segment.
    pub v6: Option<Ipv6Addr>,
}

impl Topology {
    /// The routes from each node to every segment it is not in, over the fewest routers.
    ///
    /// Unreachable segments are left out; switches and hubs have no routes.
    #[must_use]
    pub fn routes(&self) -> Vec<Vec<SegmentRoute>> {
        let mut own = vec![BTreeSet::new(); self.nodes.len()];
        for (number, segment) in self.segments.iter().enumerate() {
            for at in &segment.members {
                own[self.node_at(*at)].insert(number);
            }
        }
        let mut routes = vec![Vec::new(); self.nodes.len()];
        for segment in 0..self.segments.len() {
            let distances = self.distances(segment, &own);
            for (node, own) in own.iter().enumerate() {
                if !own.contains(&segment) {
                    let next_hops = self.nearest(node, own, &distances);
                    routes[node].extend(
                        (!next_hops.is_empty()).then_some(SegmentRoute { segment, next_hops }),
                    );
                }
            }
        }
        routes
    }

    /// The routers that share one of the segments `own` with `node` and have the smallest of `distances`.
    fn nearest(
        &self,
        node: usize,
        own: &BTreeSet<usize>,
        distances: &[Option<u32>],
    ) -> Vec<NextHop> {
        let mut hops = Vec::new();
        for segment in own.iter().map(|number| &self.segments[*number]) {
            let is_own = |at: &&LinkEnd| self.node_at(**at) == node;
            let Some(via) = segment.members.iter().find(is_own) else {
                continue;
            };
            for (position, at) in segment.members.iter().enumerate() {
                let router = self.node_at(*at);
                if let Some(distance) = distances[router].filter(|_| router != node) {
                    let next_hop = NextHop {
                        via: *via,
                        v4: segment.address4(position),
                        v6: segment.address6(position),
                    };
                    hops.push((distance, next_hop));
                }
            }
        }
        let min = hops.iter().map(|(distance, _)| *distance).min();
        hops.retain(|(distance, _)| Some(*distance) == min);
        hops.into_iter().map(|(_, hop)| hop).collect()
    }

    /// The number of further routers between each router and `segment`; `None` for nodes that do not forward to it.
    fn distances(&self, segment: usize, own: &[BTreeSet<usize>]) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.nodes.len()];
        let mut seen = BTreeSet::from([segment]);
        let mut frontier = vec![segment];
        for distance in 0.. {
            let mut next = Vec::new();
            for at in frontier
                .iter()
                .flat_map(|near| &self.segments[*near].members)
            {
                let node = self.node_at(*at);
                let forwards = matches!(self.nodes[node].role, NodeRole::Router(_));
                if forwards && distances[node].is_none() {
                    distances[node] = Some(distance);
                    next.extend(own[node].iter().filter(|near| seen.insert(**near)));
                }
            }
            if next.is_empty() {
                break;
            }
            frontier = next;
        }
        distances
    }

    /// Two nodes of which the first cannot reach the second; `None` when all hosts and routers reach one another.
    pub(crate) fn unreachable(&self) -> Option<(usize, usize)> {
        let routes = self.routes();
        for (node, routes) in routes.iter().enumerate() {
            if !self.nodes[node].has_addresses() {
                continue;
            }
            let reached: BTreeSet<usize> = routes.iter().map(|route| route.segment).collect();
            let is_in = |segment: &Segment, node| {
                let mut members = segment.members.iter();
                members.any(|at| self.node_at(*at) == node)
            };
            let near = |other: usize| {
                let mut segments = self.segments.iter();
                segments.any(|segment| is_in(segment, node) && is_in(segment, other))
            };
            for (number, segment) in self.segments.iter().enumerate() {
                if is_in(segment, node) || reached.contains(&number) {
                    continue;
                }
                let mut members = segment.members.iter().map(|at| self.node_at(*at));
                // The far address of a neighbour is unreachable as well, but a distant node shows the gap more clearly.
                let other = members.clone().find(|other| !near(*other));
                if let Some(other) = other.or_else(|| members.next()) {
                    return Some((node, other));
                }
            }
        }
        None
    }
}
