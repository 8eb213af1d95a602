//! The address on which metrics are served.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// The address and port on which metrics are served; on loopback where only a port is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsAddress(pub SocketAddr);

/// A text that is no address and port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a port, or an address and a port, such as 9521, 192.0.2.1:9521 or [::]:9521")]
pub struct MetricsAddressError;

impl FromStr for MetricsAddress {
    type Err = MetricsAddressError;

    fn from_str(text: &str) -> Result<Self, MetricsAddressError> {
        if let Ok(port) = text.parse::<u16>() {
            return Ok(Self(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        }
        text.parse().map(Self).map_err(|_| MetricsAddressError)
    }
}

impl fmt::Display for MetricsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_loopback() {
        let read = |text: &str| {
            text.parse()
                .map(|address: MetricsAddress| address.to_string())
        };
        assert_eq!(read("9521").as_deref(), Ok("127.0.0.1:9521"));
        assert_eq!(read("0.0.0.0:80").as_deref(), Ok("0.0.0.0:80"));
        assert_eq!(read("[::1]:9521").as_deref(), Ok("[::1]:9521"));
        for text in ["", "65536", "host:1", "192.0.2.1", ":9521", "::1"] {
            assert_eq!(read(text), Err(MetricsAddressError), "{text:?}");
        }
    }
}
