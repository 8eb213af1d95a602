//! Addresses and routes of hosts and routers.

use std::io;
use std::net::IpAddr;

use caudal_sys::netlink::RouteHop;
use caudal_topology::{LinkEnd, NextHop, Segment};

use crate::error::LabError;
use crate::host::{HostInterface, HostNamespace};
use crate::lab::Lab;

impl Lab {
    /// Assigns its addresses to every interface.
    pub(crate) fn assign_addresses(&mut self) -> Result<(), LabError> {
        let mut lacks_ipv6 = false;
        for segment in &self.topology.segments {
            for (position, at) in segment.members.iter().enumerate() {
                let Some(host) = self.hosts[self.topology.node_at(*at)].as_ref() else {
                    continue;
                };
                let Some(interface) = host.interface(*at) else {
                    continue;
                };
                let v4 = IpAddr::V4(segment.address4(position));
                assign(host, interface, v4, network4(segment)).map_err(LabError::kernel(
                    format!("assign {v4} to {}", interface.name),
                ))?;
                if let (Some(v6), Some(network)) = (segment.address6(position), network6(segment)) {
                    lacks_ipv6 |= assign(host, interface, IpAddr::V6(v6), network).is_err();
                }
            }
        }
        if lacks_ipv6 {
            self.warnings
                .push("this kernel assigns no IPv6 addresses: the lab has IPv4 only".to_owned());
        }
        Ok(())
    }

    /// Adds the routes to other segments to every host and router.
    pub(crate) fn add_routes(&self) -> Result<(), LabError> {
        for (node, routes) in self.topology.routes().into_iter().enumerate() {
            let Some(host) = self.hosts[node].as_ref() else {
                continue;
            };
            let index = |at: LinkEnd| host.interface(at).map(|interface| interface.index);
            for route in routes {
                let segment = &self.topology.segments[route.segment];
                let hops = |address: fn(&NextHop) -> Option<IpAddr>| -> Vec<RouteHop> {
                    let hops = route.next_hops.iter();
                    hops.filter_map(|hop| Some((index(hop.via)?, Some(address(hop)?))))
                        .collect()
                };
                let v4 = hops(|hop| Some(IpAddr::V4(hop.v4)));
                host.add_route(network4(segment), &v4)
                    .map_err(LabError::kernel(format!(
                        "add a route to {} to {}",
                        segment.v4, self.topology.nodes[node].name
                    )))?;
                let v6 = hops(|hop| hop.v6.map(IpAddr::V6));
                if let Some(network) = network6(segment)
                    && !v6.is_empty()
                {
                    // Without IPv6 this fails, and there is a warning about the addresses already.
                    let _ = host.add_route(network, &v6);
                }
            }
        }
        Ok(())
    }
}

/// Assigns an address with the route to its network.
fn assign(
    host: &HostNamespace,
    interface: &HostInterface,
    address: IpAddr,
    network: (IpAddr, u8),
) -> io::Result<()> {
    host.netlink
        .add_address(interface.index, address, network.1)?;
    host.add_route(network, &[(interface.index, None)])
}

/// The IPv4 network of a segment and its prefix length.
fn network4(segment: &Segment) -> (IpAddr, u8) {
    (IpAddr::V4(segment.v4.network()), segment.v4.prefix_len())
}

/// The IPv6 network of a segment and its prefix length.
fn network6(segment: &Segment) -> Option<(IpAddr, u8)> {
    let network = segment.v6?;
    Some((IpAddr::V6(network.network()), network.prefix_len()))
}
