//! The networks a server answers.

use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// A network in CIDR notation (RFC 4632), IPv4 or IPv6; a single address without a prefix is one too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpNet);

impl Network {
    /// `true` when `address` belongs to the network; an IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl From<IpAddr> for Network {
    fn from(address: IpAddr) -> Self {
        Self(address.to_canonical().into())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A text that is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a network; write one as 192.0.2.0/24 or 2001:db8::/32")]
pub struct NetworkError(String);

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let network = text.parse::<IpNet>().ok();
        network
            .or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
            .map(Self)
            .ok_or_else(|| NetworkError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_a_network_by_its_prefix() {
        let cases = [
            ("192.0.2.0/24", "192.0.2.77", true),
            ("192.0.2.0/24", "192.0.3.1", false),
            ("192.0.2.0/24", "::ffff:192.0.2.9", true),
            ("0.0.0.0/0", "203.0.113.5", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
        ];
        for (network, address, expected) in cases {
            let network: Network = network.parse().unwrap();
            assert_eq!(
                network.contains(address.parse().unwrap()),
                expected,
                "{network} {address}"
            );
        }
    }

    #[test]
    fn a_text_that_is_no_network_is_refused_with_an_example() {
        for text in [
            "",
            "192.0.2.0/33",
            "::/129",
            "example.org",
            "192.0.2.0/-1",
            "1.2.3/8",
        ] {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert!(error.contains("192.0.2.0/24"), "{error}");
        }
    }
}
