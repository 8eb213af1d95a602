//! A network that can be built.

use crate::link::{Link, LinkEnd};
use crate::node::Node;
use ipnet::{Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network that can be built: every default filled in, every value checked.
///
/// Nodes, links and segments are referred to by their position in these lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// A description in one line.
    pub title: Option<String>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Hosts, routers, switches and hubs, in this order.
    pub nodes: Vec<Node>,
    /// The links between them.
    pub links: Vec<Link>,
    /// The broadcast domains, each with its addresses.
    pub segments: Vec<Segment>,
}

impl Topology {
    /// The number of the node called `name`.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// The number of the link called `name`.
    #[must_use]
    pub fn link(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    /// The node at an end of a link.
    #[must_use]
    pub fn node_at(&self, at: LinkEnd) -> usize {
        self.links[at.link].ends[at.end].node
    }

    /// The link ends at `node`, in the order of the links.
    pub fn attachments(&self, node: usize) -> impl Iterator<Item = LinkEnd> + '_ {
        (0..self.links.len())
            .flat_map(|link| [0, 1].map(|end| LinkEnd::new(link, end)))
            .filter(move |at| self.node_at(*at) == node)
    }

    /// The segment of a link end at a host or router, and its addresses there.
    #[must_use]
    pub fn addresses(&self, at: LinkEnd) -> Option<(&Segment, Ipv4Addr, Option<Ipv6Addr>)> {
        self.segments.iter().find_map(|segment| {
            let member = segment.members.iter().position(|member| *member == at)?;
            Some((segment, segment.address4(member), segment.address6(member)))
        })
    }

    /// The addresses of a host or router, those of its first link first.
    #[must_use]
    pub fn addresses_of(&self, node: usize) -> Vec<IpAddr> {
        let mut found = Vec::new();
        for at in self.attachments(node) {
            if let Some((_, v4, v6)) = self.addresses(at) {
                found.push(IpAddr::V4(v4));
                found.extend(v6.map(IpAddr::V6));
            }
        }
        found
    }
}

/// A broadcast domain: hosts and routers that reach one another without a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its IPv4 network, a /24.
    pub v4: Ipv4Net,
    /// Its IPv6 network, a /64; `None` where a packet of 1280 bytes does not fit (RFC 8200 section 5).
    pub v6: Option<Ipv6Net>,
    /// The link ends at hosts and routers; the position of each gives its address.
    pub members: Vec<LinkEnd>,
}

impl Segment {
    /// The number of addresses that a segment's /24 has for members.
    pub(crate) const MAX_MEMBERS: usize = 254;

    /// The IPv4 address of the member at position `member`.
    #[must_use]
    pub fn address4(&self, member: usize) -> Ipv4Addr {
        // At most `MAX_MEMBERS`, so it fits.
        Ipv4Addr::from_bits(self.v4.network().to_bits() + 1 + member as u32)
    }

    /// The IPv6 address of the member at position `member`.
    #[must_use]
    pub fn address6(&self, member: usize) -> Option<Ipv6Addr> {
        let network = self.v6?.network().to_bits();
        Some(Ipv6Addr::from_bits(network + 1 + member as u128))
    }
}
