//! Routes to addresses.

use std::net::{IpAddr, SocketAddr};

use super::link::{LinkMessage, request};
use crate::netlink::{attributes, family, ip_address, push_attribute};
use crate::raw;

/// The route by which packets to one address leave this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The name of the interface by which they leave.
    pub interface: String,
    /// The index of that interface.
    pub index: u32,
    /// Their source address.
    pub source: IpAddr,
    /// The router that they are handed to; `None` where the destination is on that interface's own network.
    pub gateway: Option<IpAddr>,
}

/// The route to `destination`; `None` when there is none.
pub fn route_to(destination: IpAddr) -> Option<Route> {
    route_from(None, destination)
}

/// The route to `destination` of packets from the address `source` of this machine, for which there may be rules of their own; `None` when
/// there is none.
pub fn route_from(source: Option<IpAddr>, destination: IpAddr) -> Option<Route> {
    route(source, destination, None)
}

/// The route to the address of a socket, which for a link-local one of IPv6 is that of its interface; `None` when there is none.
pub fn route_to_socket(destination: SocketAddr) -> Option<Route> {
    route(None, destination.ip(), scope(destination))
}

/// The route of what the connected socket with these addresses sends; `None` when there is none.
pub fn route_of_connection(source: IpAddr, destination: SocketAddr) -> Option<Route> {
    let interface = scope(destination);
    // A source on the own link is no source for the kernel to look up by.
    let source = Some(source).filter(|_| interface.is_none());
    route(source, destination.ip(), interface)
}

/// The interface of a link-local address of IPv6.
fn scope(address: SocketAddr) -> Option<u32> {
    match address {
        SocketAddr::V6(address) if address.scope_id() != 0 => Some(address.scope_id()),
        _ => None,
    }
}

/// The route to `destination`, from `source` and by the interface of an index where these are given.
fn route(source: Option<IpAddr>, destination: IpAddr, interface: Option<u32>) -> Option<Route> {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let destination = destination.to_canonical();
    let source = source
        .map(|source| source.to_canonical())
        .filter(|source| !source.is_unspecified() && source.is_ipv4() == destination.is_ipv4());
    // `struct rtmsg`: family, the lengths of destination and source, then nine bytes that stay zero.
    let mut header = [0; 12];
    header[0] = family(destination);
    let mut body = Vec::new();
    for (length, attribute, address) in [
        (1, libc::RTA_DST, Some(destination)),
        (2, libc::RTA_SRC, source),
    ] {
        if let Some(address) = address.map(octets) {
            header[length] = (address.len() * 8) as u8;
            push_attribute(&mut body, attribute, &address);
        }
    }
    if let Some(index) = interface {
        push_attribute(&mut body, libc::RTA_OIF, &index.to_ne_bytes());
    }
    body.splice(..0, header);
    let replies = request(libc::RTM_GETROUTE, 0, &body).ok()?;
    let attributes = attributes(replies.first()?.get(header.len()..)?);
    let index = raw::u32_at(attributes.get(&libc::RTA_OIF)?, 0)?;
    // The kernel does not repeat a source that was asked for.
    let preferred = attributes.get(&libc::RTA_PREFSRC);
    let source = preferred
        .and_then(|address| ip_address(address))
        .or(source)?;
    Some(Route {
        interface: LinkMessage::by_index(index)?.name,
        index,
        source,
        gateway: attributes
            .get(&libc::RTA_GATEWAY)
            .and_then(|address| ip_address(address)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::interface::Interface;
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6};

    #[test]
    fn a_link_local_address_is_reached_by_its_interface() {
        let lo = Interface::by_name("lo").unwrap().index;
        let here = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 9, 0, lo);
        // A machine without IPv6 has no route there.
        if let Some(route) = route_to_socket(here.into()) {
            assert_eq!(route.index, lo);
        }
        let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        assert_eq!(route_to_socket(v4).unwrap().index, lo);
    }

    #[test]
    fn this_machine_reaches_itself_by_loopback() {
        for destination in ["127.0.0.1", "::ffff:127.0.0.1"] {
            let route = route_to(destination.parse().unwrap()).unwrap();
            assert_eq!(route.interface, "lo");
            assert_eq!(route.source, IpAddr::from(Ipv4Addr::LOCALHOST));
            assert_eq!(Interface::by_name("lo").unwrap().index, route.index);
        }
    }
}
