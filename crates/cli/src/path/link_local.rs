//! Link-local targets: addresses that are one of every link, and are of one with the name or the index of its interface (RFC 4007).

use crate::exit::Failure;
use caudal_sys::interface::{Interface, Route, local_addresses};
use std::net::{IpAddr, SocketAddr};

/// The host with the interface as the resolver reads it: in a URL the % before it is written %25 (RFC 6874).
pub(super) fn with_plain_zone(host: &str) -> String {
    match host.split_once("%25") {
        Some((address, zone)) if !zone.is_empty() && is_link_local(address) => {
            format!("{address}%{zone}")
        }
        _ => host.to_owned(),
    }
}

/// `true` for the text of a link-local address of IPv6.
fn is_link_local(address: &str) -> bool {
    let address: Result<std::net::Ipv6Addr, _> = address.parse();
    address.is_ok_and(|address| address.is_unicast_link_local())
}

/// The index of the interface of a link-local address; 0 for any other address.
///
/// # Errors
/// For a link-local address without an interface.
pub(super) fn scope_of(address: &SocketAddr) -> Result<u32, Failure> {
    let SocketAddr::V6(v6) = address else {
        return Ok(0);
    };
    if !v6.ip().is_unicast_link_local() {
        return Ok(0);
    }
    if v6.scope_id() > 0 {
        return Ok(v6.scope_id());
    }
    let mut names: Vec<String> = link_local_addresses().map(|(name, _)| name).collect();
    names.dedup();
    Err(Failure::usage(
        format!(
            "{} is a link-local address, which every link may have, and names no interface",
            v6.ip()
        ),
        match names.first() {
            Some(first) => format!(
                "write {}%{first} (interfaces with such an address: {})",
                v6.ip(),
                names.join(", ")
            ),
            None => "no interface here has such an address".to_owned(),
        },
    ))
}

/// The link-local addresses of this machine, with the names of their interfaces.
fn link_local_addresses() -> impl Iterator<Item = (String, IpAddr)> {
    let is_link_local = |address: &IpAddr| match address {
        IpAddr::V6(address) => address.is_unicast_link_local(),
        IpAddr::V4(_) => false,
    };
    local_addresses()
        .into_iter()
        .filter(move |local| is_link_local(&local.address))
        .map(|local| (local.interface, local.address))
}

/// The way out to a link-local address of the interface with this index; `None` where that has no such address itself.
pub(super) fn route_by(scope: u32, bind: Option<IpAddr>) -> Option<Route> {
    let (interface, source) = link_local_addresses().find(|(name, _)| {
        Interface::by_name(name).is_some_and(|interface| interface.index == scope)
    })?;
    Some(Route {
        interface,
        index: scope,
        source: bind.unwrap_or(source),
        gateway: None,
    })
}

/// `true` for a link-local address that an interface of this machine has.
pub(super) fn is_own(address: IpAddr) -> bool {
    link_local_addresses().any(|(_, own)| own == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_read_as_in_urls_too() {
        for (host, expected) in [
            ("fe80::1%25eth0", "fe80::1%eth0"),
            ("fe80::1%eth0", "fe80::1%eth0"),
            ("fe80::1%25", "fe80::1%25"),
            ("host%25eth0", "host%25eth0"),
        ] {
            assert_eq!(with_plain_zone(host), expected);
        }
    }

    #[test]
    fn a_link_local_address_without_an_interface_is_told_so() {
        let bare: SocketAddr = "[fe80::1]:1".parse().unwrap();
        assert!(scope_of(&bare).unwrap_err().message.contains("link-local"));
        let with_zone: SocketAddr = "[fe80::1%7]:1".parse().unwrap();
        assert_eq!(scope_of(&with_zone).unwrap(), 7);
        let global: SocketAddr = "[2001:db8::1]:1".parse().unwrap();
        assert_eq!(scope_of(&global).unwrap(), 0);
    }
}
