//! Addresses and routes.

use std::io;
use std::net::IpAddr;

use super::attribute::{family, octets, push_attribute};
use super::socket::Netlink;

/// A next hop: the index of the device, and the router's address; `None` where the network is on the device's own link.
pub type RouteHop = (u32, Option<IpAddr>);

impl Netlink {
    /// Adds an address to a device, without duplicate address detection and without a route to its network, which is for
    /// [`Self::add_route`].
    ///
    /// # Errors
    /// When the device has the address already, or the kernel lacks the family.
    pub fn add_address(&self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let octets = octets(address);
        // `struct ifaddrmsg`: family, prefix length, flags, scope, index.
        let flags = if address.is_ipv6() {
            libc::IFA_F_NODAD as u8
        } else {
            0
        };
        let mut body = vec![family(address), prefix, flags, 0];
        body.extend_from_slice(&index.to_ne_bytes());
        push_attribute(&mut body, libc::IFA_LOCAL, &octets);
        push_attribute(&mut body, libc::IFA_ADDRESS, &octets);
        let flags = u32::from(flags) | libc::IFA_F_NOPREFIXROUTE;
        push_attribute(&mut body, libc::IFA_FLAGS, &flags.to_ne_bytes());
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.request_change(libc::RTM_NEWADDR, flags, &body)
    }

    /// Adds a route to a network over these next hops, with equal weights.
    ///
    /// # Errors
    /// When there is one already, a next hop is unreachable, or `hops` is empty.
    pub fn add_route(&self, (network, prefix): (IpAddr, u8), hops: &[RouteHop]) -> io::Result<()> {
        let is_direct = matches!(hops, [(_, None)]);
        let scope = if is_direct && network.is_ipv4() {
            libc::RT_SCOPE_LINK
        } else {
            libc::RT_SCOPE_UNIVERSE
        };
        // `struct rtmsg`: family, lengths of destination and source, type of service, table, protocol, scope, type, flags.
        let mut body = vec![
            family(network),
            prefix,
            0,
            0,
            libc::RT_TABLE_MAIN,
            libc::RTPROT_STATIC,
            scope,
            libc::RTN_UNICAST,
        ];
        body.extend_from_slice(&[0; 4]);
        push_attribute(&mut body, libc::RTA_DST, &octets(network));
        match hops {
            [] => return Err(io::ErrorKind::InvalidInput.into()),
            [(index, gateway)] => {
                if let Some(gateway) = gateway {
                    push_attribute(&mut body, libc::RTA_GATEWAY, &octets(*gateway));
                }
                push_attribute(&mut body, libc::RTA_OIF, &index.to_ne_bytes());
            }
            several => {
                let mut list = Vec::new();
                for (index, gateway) in several {
                    // `struct rtnexthop`: length, flags, weight less one, index.
                    let mut hop = vec![0; 8];
                    hop[4..8].copy_from_slice(&index.to_ne_bytes());
                    if let Some(gateway) = gateway {
                        push_attribute(&mut hop, libc::RTA_GATEWAY, &octets(*gateway));
                    }
                    let length = (hop.len() as u16).to_ne_bytes();
                    hop[..2].copy_from_slice(&length);
                    list.extend_from_slice(&hop);
                }
                push_attribute(&mut body, libc::RTA_MULTIPATH, &list);
            }
        }
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.request_change(libc::RTM_NEWROUTE, flags, &body)
    }
}
