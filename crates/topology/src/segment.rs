//! Broadcast domains and the addresses in them.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use crate::link::LinkEnd;

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
