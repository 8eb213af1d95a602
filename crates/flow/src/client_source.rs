//! The source of clients: what counts as one when places are shared.

use std::net::{IpAddr, Ipv6Addr};

/// The bits of an IPv6 address that a site assigns to hosts as it likes (RFC 4291, section 2.5.1).
const HOST_BITS: u32 = 64;

/// The source of a client: an address of IPv4, or a /64 of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientSource(IpAddr);

impl From<IpAddr> for ClientSource {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() >> HOST_BITS << HOST_BITS;
                Ipv6Addr::from_bits(network).into()
            }
            v4 @ IpAddr::V4(_) => v4,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_address_and_a_64_of_ipv6_are_one_source() {
        let source = |text: &str| ClientSource::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(source("192.0.2.1"), source("::ffff:192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:0:0:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
    }
}
