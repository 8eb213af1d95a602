//! Broadcast domains and their networks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use ipnet::{Ipv4Net, Ipv6Net};

use crate::error::{Location, Result, TopologyError};
use crate::file::TopologyFile;
use crate::link::LinkEnd;
use crate::topology::{Segment, Topology};

const DEFAULT_IPV4: &str = "10.0.0.0/16";
const DEFAULT_IPV6: &str = "fd00:ca:da::/48";
/// The smallest MTU of a link with IPv6 (RFC 8200 section 5).
const MIN_IPV6_MTU: u32 = 1280;

/// The broadcast domains of `topology`, in the order of their first link, each with a /24 and a /64 of its own.
pub(super) fn segments(topology: &Topology, file: &TopologyFile) -> Result<Vec<Segment>> {
    let at = Location::default().key("addresses");
    let addresses = file.addresses.clone().unwrap_or_default();
    let v4 = ipv4_network(addresses.ipv4.as_deref().unwrap_or(DEFAULT_IPV4), &at)?;
    let v6 = ipv6_network(addresses.ipv6.as_deref().unwrap_or(DEFAULT_IPV6), &at)?;
    let mut segments = Vec::new();
    for (number, members) in members(topology).into_iter().enumerate() {
        check_members(topology, &members)?;
        let used_up = |key: &str, network: &dyn Display, prefix: &str| {
            TopologyError::new(
                &at.key(key),
                format!("{network} has no {prefix} left for segment {}", number + 1),
                "give addresses a larger network",
            )
        };
        let segment_v4 = v4.subnets(24).ok().and_then(|mut all| all.nth(number));
        let segment_v4 = segment_v4.ok_or_else(|| used_up("ipv4", &v4, "/24"))?;
        let has_ipv6 = members
            .iter()
            .all(|at| topology.links[at.link].mtu >= MIN_IPV6_MTU);
        let segment_v6 = if has_ipv6 {
            let subnet = v6.subnets(64).ok().and_then(|mut all| all.nth(number));
            Some(subnet.ok_or_else(|| used_up("ipv6", &v6, "/64"))?)
        } else {
            None
        };
        segments.push(Segment {
            v4: segment_v4,
            v6: segment_v6,
            members,
        });
    }
    Ok(segments)
}

/// Parses `text`; bits behind the prefix must be zero.
fn ipv4_network(text: &str, at: &Location) -> Result<Ipv4Net> {
    let network: Option<Ipv4Net> = text.parse().ok();
    network
        .filter(|network| network.addr() == network.network())
        .ok_or_else(|| {
            TopologyError::new(
                &at.key("ipv4"),
                format!("{text:?} is not an IPv4 network"),
                "write one such as 10.0.0.0/16",
            )
        })
}

/// Parses `text`; bits behind the prefix must be zero.
fn ipv6_network(text: &str, at: &Location) -> Result<Ipv6Net> {
    let network: Option<Ipv6Net> = text.parse().ok();
    network
        .filter(|network| network.addr() == network.network())
        .ok_or_else(|| {
            TopologyError::new(
                &at.key("ipv6"),
                format!("{text:?} is not an IPv6 network"),
                "write one such as fd00:ca:da::/48",
            )
        })
}

/// The link ends at hosts and routers, by broadcast domain: links are in one when a switch or hub joins them.
fn members(topology: &Topology) -> Vec<Vec<LinkEnd>> {
    let has_addresses = |node: usize| topology.nodes[node].has_addresses();
    let mut domains: Vec<usize> = (0..topology.links.len()).collect();
    for node in (0..topology.nodes.len()).filter(|node| !has_addresses(*node)) {
        let joined: Vec<usize> = topology
            .attachments(node)
            .map(|at| domains[at.link])
            .collect();
        if let Some(&first) = joined.iter().min() {
            for domain in &mut domains {
                if joined.contains(domain) {
                    *domain = first;
                }
            }
        }
    }
    let mut members: BTreeMap<usize, Vec<LinkEnd>> = BTreeMap::new();
    for (link, domain) in domains.iter().enumerate() {
        for at in [0, 1].map(|end| LinkEnd::new(link, end)) {
            if has_addresses(topology.node_at(at)) {
                members.entry(*domain).or_default().push(at);
            }
        }
    }
    members.into_values().collect()
}

/// Refuses a host that is in one segment twice, links of different MTU in one segment, and too many members.
fn check_members(topology: &Topology, members: &[LinkEnd]) -> Result<()> {
    let mut seen = BTreeSet::new();
    let mtu = members.first().map(|at| topology.links[at.link].mtu);
    for at in members {
        let link = &topology.links[at.link];
        let location = Location::element("link", at.link);
        let node = topology.node_at(*at);
        if !seen.insert(node) {
            let name = &topology.nodes[node].name;
            return Err(TopologyError::new(
                &location.key("between"),
                format!("{name} is in the same segment twice"),
                "leave one of its links out, or put a router between",
            ));
        }
        if Some(link.mtu) != mtu {
            return Err(TopologyError::new(
                &location.key("mtu"),
                format!(
                    "the MTU of link {:?} differs from that of its segment",
                    link.name
                ),
                "give all links of a switch or hub the same MTU",
            ));
        }
    }
    if members.len() > Segment::MAX_MEMBERS {
        return Err(TopologyError::new(
            &Location::element("link", members[0].link),
            format!(
                "{} interfaces in one segment are more than a /24 has addresses for",
                members.len()
            ),
            "divide it with a router",
        ));
    }
    Ok(())
}
