//! Broadcast domains, the addresses in them, and the ways between them.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Role, Topology};

/// An IPv4 network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network4 {
    /// Its first address.
    pub base: Ipv4Addr,
    /// The bits that are the same in all its addresses.
    pub prefix: u8,
}

/// An IPv6 network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network6 {
    /// Its first address.
    pub base: Ipv6Addr,
    /// The bits that are the same in all its addresses.
    pub prefix: u8,
}

impl fmt::Display for Network4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

impl fmt::Display for Network6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

impl Network4 {
    /// Reads `10.0.0.0/16`; bits behind the prefix must be zero.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (base, prefix) = text.split_once('/')?;
        let (base, prefix): (Ipv4Addr, u8) = (base.parse().ok()?, prefix.parse().ok()?);
        let host = u32::MAX.checked_shr(prefix.into()).unwrap_or(0);
        (prefix <= 32 && base.to_bits() & host == 0).then_some(Self { base, prefix })
    }

    /// The /24 number `index` in it.
    pub(super) fn part(self, index: usize) -> Option<Self> {
        let parts = 1_u64.checked_shl(24_u32.checked_sub(self.prefix.into())?)?;
        let index = u64::try_from(index).ok().filter(|index| *index < parts)?;
        let base = Ipv4Addr::from_bits(self.base.to_bits() + u32::try_from(index << 8).ok()?);
        Some(Self { base, prefix: 24 })
    }
}

impl Network6 {
    /// Reads `fd00::/48`; bits behind the prefix must be zero.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (base, prefix) = text.split_once('/')?;
        let (base, prefix): (Ipv6Addr, u8) = (base.parse().ok()?, prefix.parse().ok()?);
        let host = u128::MAX.checked_shr(prefix.into()).unwrap_or(0);
        (prefix <= 128 && base.to_bits() & host == 0).then_some(Self { base, prefix })
    }

    /// The /64 number `index` in it.
    pub(super) fn part(self, index: usize) -> Option<Self> {
        let parts = 1_u128.checked_shl(64_u32.checked_sub(self.prefix.into())?)?;
        let index = u128::try_from(index).ok().filter(|index| *index < parts)?;
        Some(Self {
            base: Ipv6Addr::from_bits(self.base.to_bits() + (index << 64)),
            prefix: 64,
        })
    }
}

/// A broadcast domain: who hears whom without a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its IPv4 network.
    pub v4: Network4,
    /// Its IPv6 network; `None` where a packet of 1280 bytes does not fit (RFC 8200 section 5).
    pub v6: Option<Network6>,
    /// The ends of links at hosts and routers: link and end.
    pub members: Vec<(usize, usize)>,
}

impl Segment {
    /// The most members a segment's /24 has addresses for.
    pub(super) const MOST: usize = 254;

    /// The IPv4 address of a member, by its position.
    #[must_use]
    pub fn address4(&self, member: usize) -> Ipv4Addr {
        // A segment has at most `MOST` members.
        Ipv4Addr::from_bits(self.v4.base.to_bits() + 1 + member as u32)
    }

    /// The IPv6 address of a member, by its position.
    #[must_use]
    pub fn address6(&self, member: usize) -> Option<Ipv6Addr> {
        let base = self.v6?.base.to_bits();
        Some(Ipv6Addr::from_bits(base + 1 + member as u128))
    }
}

/// The way to a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The segment, by its number.
    pub segment: usize,
    /// All the next hops that are equally near.
    pub hops: Vec<NextHop>,
}

/// A router to hand packets to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextHop {
    /// The end they leave by: link and end.
    pub from: (usize, usize),
    /// The router's addresses there.
    pub to: (Ipv4Addr, Option<Ipv6Addr>),
}

impl Topology {
    /// The ways from each node to every segment it is not in, over the fewest routers.
    ///
    /// A segment nothing leads to is missing, and switches and hubs have none.
    #[must_use]
    pub fn routes(&self) -> Vec<Vec<Route>> {
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
                    let hops = self.nearest(node, own, &distances);
                    routes[node].extend((!hops.is_empty()).then_some(Route { segment, hops }));
                }
            }
        }
        routes
    }

    /// The node at an end of a link.
    fn node_at(&self, (link, end): (usize, usize)) -> usize {
        self.links[link].ends[end].node
    }

    /// The routers beside `node`, which is in the segments `own`, that are nearest by `distances`.
    fn nearest(
        &self,
        node: usize,
        own: &BTreeSet<usize>,
        distances: &[Option<u32>],
    ) -> Vec<NextHop> {
        let mut hops = Vec::new();
        for segment in own.iter().map(|number| &self.segments[*number]) {
            let is_own = |at: &&(usize, usize)| self.node_at(**at) == node;
            let Some(from) = segment.members.iter().find(is_own) else {
                continue;
            };
            for (position, at) in segment.members.iter().enumerate() {
                let router = self.node_at(*at);
                let to = (segment.address4(position), segment.address6(position));
                if let Some(distance) = distances[router].filter(|_| router != node) {
                    hops.push((distance, NextHop { from: *from, to }));
                }
            }
        }
        let least = hops.iter().map(|(distance, _)| *distance).min();
        hops.retain(|(distance, _)| Some(*distance) == least);
        hops.into_iter().map(|(_, hop)| hop).collect()
    }

    /// How many more routers a packet passes to reach `segment` from each node; `None` for what does not forward to it.
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
                let forwards = matches!(self.nodes[node].role, Role::Router(_));
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

    /// Two nodes of which the first does not reach the second; `None` when all hosts and routers reach one another.
    pub(super) fn unreachable(&self) -> Option<(usize, usize)> {
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
                // A neighbour's far address is out of reach as well, but names the gap less clearly.
                let other = members.clone().find(|other| !near(*other));
                if let Some(other) = other.or_else(|| members.next()) {
                    return Some((node, other));
                }
            }
        }
        None
    }

    /// The lines of a hosts file: every host and router by its name, and by name and interface.
    #[must_use]
    pub fn hosts_file(&self) -> String {
        let mut lines =
            String::from("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n");
        for (number, node) in self.nodes.iter().enumerate() {
            for (place, (link, end)) in self.attachments(number).enumerate() {
                let Some((_, v4, v6)) = self.addresses(link, end) else {
                    continue;
                };
                let device = &self.links[link].ends[end].device;
                let name = &node.name;
                let names = if place == 0 {
                    format!("{name} {name}-{device}")
                } else {
                    format!("{name}-{device}")
                };
                for address in [Some(IpAddr::V4(v4)), v6.map(IpAddr::V6)]
                    .into_iter()
                    .flatten()
                {
                    lines.push_str(&format!("{address}\t{names}\n"));
                }
            }
        }
        lines
    }
}
