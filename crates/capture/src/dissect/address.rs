//! Addresses of both versions of IP in 16 bytes.

use std::net::{IpAddr, Ipv6Addr};

/// An address; one of IPv4 is kept as the IPv6 address that maps it (RFC 4291 section 2.5.5.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PackedAddress(pub(crate) u128);

impl PackedAddress {
    const MAPPED: u128 = 0xffff << 32;

    /// The IPv4 address with these bits.
    #[inline]
    pub(crate) const fn v4(bits: u32) -> Self {
        Self(Self::MAPPED | bits as u128)
    }

    /// The address as the standard library has it.
    pub(crate) fn ip(self) -> IpAddr {
        Ipv6Addr::from_bits(self.0).to_canonical()
    }
}

impl From<IpAddr> for PackedAddress {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::v4(address.to_bits()),
            IpAddr::V6(address) => Self(address.to_bits()),
        }
    }
}
