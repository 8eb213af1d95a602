//! A host on the command line, with its port where it is given with it.

use super::local_address::zoned_address;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A host: a name or an address, and the port of `HOST:PORT` or `[IPv6]:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostArg {
    /// The name or address, without brackets and port.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
}

impl HostArg {
    /// The address that it is, without its zone; `None` for a name. An IPv4 address that is mapped to IPv6 is one of IPv4.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        let address = self.host.split('%').next()?.parse::<IpAddr>().ok()?;
        Some(address.to_canonical())
    }

    /// `true` for an address with the interface that it belongs to.
    #[must_use]
    pub fn has_zone(&self) -> bool {
        self.host.contains('%')
    }

    /// `true` for a link-local address without its interface.
    #[must_use]
    pub fn lacks_zone(&self) -> bool {
        let is_link_local =
            |address| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
        !self.has_zone() && self.address().is_some_and(is_link_local)
    }
}

impl FromStr for HostArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let host = Self::parse(text.trim())?;
        Ok(match zoned_address(&host.host)? {
            Some(address) => Self {
                host: address,
                ..host
            },
            None => host,
        })
    }
}

impl HostArg {
    fn parse(text: &str) -> Result<Self, String> {
        let alone = |host: &str| Self {
            host: host.to_owned(),
            port: None,
        };
        if text.is_empty() {
            return Err("the host is empty; give a name or an address".to_owned());
        }
        if let Some(bracketed) = text.strip_prefix('[') {
            let (host, rest) = bracketed
                .split_once(']')
                .ok_or_else(|| format!("{text:?} has no ]; write [IPv6] or [IPv6]:PORT"))?;
            return match rest.strip_prefix(':') {
                None if rest.is_empty() => Ok(alone(host)),
                Some(digits) => Ok(Self {
                    host: host.to_owned(),
                    port: Some(port(digits)?),
                }),
                None => Err(format!("{text:?} is no host; write [IPv6] or [IPv6]:PORT")),
            };
        }
        match text.split_once(':') {
            // Two colons and more are an IPv6 address, which takes a port in brackets only.
            Some((_, rest)) if rest.contains(':') => {
                let address = text.split('%').next().unwrap_or(text);
                match address.parse::<Ipv6Addr>() {
                    Ok(_) => Ok(alone(text)),
                    Err(_) => Err(format!(
                        "{text:?} is no IPv6 address; with a port write [IPv6]:PORT"
                    )),
                }
            }
            Some(("", _)) => Err(format!("{text:?} names no host; write HOST:PORT")),
            Some((host, digits)) => Ok(Self {
                host: host.to_owned(),
                port: Some(port(digits)?),
            }),
            None => Ok(alone(text)),
        }
    }
}

fn port(digits: &str) -> Result<u16, String> {
    digits
        .parse()
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| format!("{digits:?} is no port; it must lie between 1 and 65535"))
}

impl fmt::Display for HostArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) if self.host.contains(':') => write!(f, "[{}]:{port}", self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_may_carry_its_port() {
        for (text, host, port) in [
            ("far.example", "far.example", None),
            ("far.example:5202", "far.example", Some(5202)),
            ("192.0.2.1:1", "192.0.2.1", Some(1)),
            ("::1", "::1", None),
            ("fe80::1%lo", "fe80::1%1", None),
            ("[fe80::1%25lo]:7", "fe80::1%1", Some(7)),
            ("[fe80::1%1]", "fe80::1%1", None),
            ("[::1]", "::1", None),
            ("[2001:db8::1]:65535", "2001:db8::1", Some(65_535)),
        ] {
            let read: HostArg = text.parse().unwrap();
            assert_eq!((read.host.as_str(), read.port), (host, port), "{text}");
        }
        for text in [
            "",
            "fe80::1%nosuch0",
            "far:",
            "far:0",
            "far:65536",
            "far:x",
            "[::1",
            "[::1]x",
            "1:2:3",
            ":5201",
        ] {
            let error = text.parse::<HostArg>().unwrap_err();
            assert!(
                !error.is_empty() && !error.contains('\n'),
                "{text}: {error}"
            );
        }
    }
}
