//! Hosts of a real network.

use std::collections::BTreeMap;
use std::net::IpAddr;

use caudal_engine::PORT;
use serde::{Deserialize, Serialize};

/// A host of a real network that runs `caudal serve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostAddress {
    /// Its name or address.
    pub host: String,
    /// The port of its server.
    pub port: u16,
}

/// Parses `name=address,…`: the addresses of hosts by the names that flows give them.
///
/// # Errors
/// Names the part that is wrong.
pub fn parse_hosts(text: &str) -> Result<BTreeMap<String, HostAddress>, String> {
    text.split(',')
        .map(|part| {
            let (name, address) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?} has no ="))?;
            if name.is_empty() {
                return Err(format!("{part:?} has no name"));
            }
            Ok((name.to_owned(), parse_address(address)?))
        })
        .collect()
}

/// Parses an address with or without a port: `192.0.2.1`, `far.example:5202`, `[2001:db8::1]:5201`, `2001:db8::1`.
///
/// # Errors
/// Names the part that is wrong.
pub(super) fn parse_address(text: &str) -> Result<HostAddress, String> {
    let parse_port = |text: &str| {
        text.parse::<u16>()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("{text:?} is no port"))
    };
    let (host, port) = if text.parse::<IpAddr>().is_ok() {
        (text, PORT)
    } else if let Some(rest) = text.strip_prefix('[') {
        match rest.split_once(']') {
            Some((host, "")) => (host, PORT),
            Some((host, rest)) => (host, parse_port(rest.trim_start_matches(':'))?),
            None => return Err(format!("{text:?} has no ]")),
        }
    } else if let Some((host, port)) = text.rsplit_once(':') {
        (host, parse_port(port)?)
    } else {
        (text, PORT)
    };
    if host.is_empty() {
        return Err(format!("{text:?} names no host"));
    }
    Ok(HostAddress {
        host: host.to_owned(),
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_an_address_and_may_have_a_port() {
        let found =
            parse_hosts("h1=192.0.2.1,h2=far.example:5202,h3=[2001:db8::1]:7,h4=2001:db8::2")
                .unwrap();
        let shown: Vec<(String, u16)> = found
            .values()
            .map(|address| (address.host.clone(), address.port))
            .collect();
        assert_eq!(
            shown,
            [
                ("192.0.2.1".to_owned(), 5201),
                ("far.example".to_owned(), 5202),
                ("2001:db8::1".to_owned(), 7),
                ("2001:db8::2".to_owned(), 5201)
            ]
        );
        for bad in ["", "h1", "h1=", "=a", "h1=a:0", "h1=a:x", "h1=[::1"] {
            assert!(parse_hosts(bad).is_err(), "{bad:?}");
        }
    }
}
