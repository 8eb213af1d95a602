//! Routes to addresses.

use std::net::IpAddr;

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
}

/// The route to `destination`; `None` when there is none.
pub fn route_to(destination: IpAddr) -> Option<Route> {
    let destination = destination.to_canonical();
    let octets = match destination {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    // `struct rtmsg`: family and length of the destination, then ten bytes that stay zero.
    let mut header = [0; 12];
    header[0] = family(destination);
    header[1] = (octets.len() * 8) as u8;
    let mut body = header.to_vec();
    push_attribute(&mut body, libc::RTA_DST, &octets);
    let replies = request(libc::RTM_GETROUTE, 0, &body).ok()?;
    let attributes = attributes(replies.first()?.get(header.len()..)?);
    let index = raw::u32_at(attributes.get(&libc::RTA_OIF)?, 0)?;
    let source = ip_address(attributes.get(&libc::RTA_PREFSRC)?)?;
    Some(Route {
        interface: LinkMessage::by_index(index)?.name,
        index,
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::super::interface::Interface;
    use super::*;
    use std::net::Ipv4Addr;

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
