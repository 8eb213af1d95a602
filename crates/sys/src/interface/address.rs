//! The addresses of this machine.

use std::net::IpAddr;

use super::link::{LinkMessage, request};
use crate::netlink::{attributes, ip_address};
use crate::raw;

/// An address of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAddress {
    /// The name of the interface it belongs to.
    pub interface: String,
    /// The address.
    pub address: IpAddr,
}

/// The addresses of this machine, in the network namespace of the calling thread.
pub fn local_addresses() -> Vec<LocalAddress> {
    let links = LinkMessage::all();
    // `struct ifaddrmsg`: family, prefix length, flags, scope, then the index.
    let replies = request(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; 8]).unwrap_or_default();
    let decode = |reply: &Vec<u8>| {
        let index = raw::u32_at(reply, 4)?;
        let attributes = attributes(reply.get(8..)?);
        // On a point-to-point link `IFA_ADDRESS` is the other end.
        let own = attributes
            .get(&libc::IFA_LOCAL)
            .or(attributes.get(&libc::IFA_ADDRESS))?;
        let interface = links.iter().find(|link| link.index == index)?.name.clone();
        Some(LocalAddress {
            interface,
            address: ip_address(own)?,
        })
    };
    replies.iter().filter_map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::super::interface::Interface;
    use super::super::route::route_to;
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn every_local_address_is_the_source_of_its_own_route() {
        let addresses = local_addresses();
        assert!(
            addresses
                .iter()
                .any(|local| local.address == Ipv4Addr::LOCALHOST)
        );
        for local in addresses.iter().filter(|local| local.address.is_ipv4()) {
            assert_eq!(route_to(local.address).unwrap().source, local.address);
            assert!(Interface::by_name(&local.interface).is_some());
        }
    }
}
