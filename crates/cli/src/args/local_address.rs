//! A local address on the command line, with its interface where it belongs to one.

use caudal_sys::interface::{interface_index, interface_names};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A local address: a link-local one of IPv6 has a zone, as `fe80::1%eth0` (RFC 4007).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalAddressArg {
    /// The address.
    pub address: IpAddr,
    /// The index of its interface; 0 where none was named.
    pub scope_id: u32,
}

impl FromStr for LocalAddressArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(text);
        let (address, zone) = match bare.split_once('%') {
            Some((address, zone)) => (address, Some(zone)),
            None => (bare, None),
        };
        let no_address = || format!("{text:?} is no IP address");
        let address: IpAddr = address.parse().map_err(|_| no_address())?;
        match (address, zone) {
            (IpAddr::V6(v6), Some(zone)) => Ok(Self {
                address,
                scope_id: scope_id(v6, zone)?,
            }),
            (IpAddr::V4(_), Some(_)) => Err(no_address()),
            (_, None) => Ok(Self {
                address,
                scope_id: 0,
            }),
        }
    }
}

impl LocalAddressArg {
    /// `true` for an address that is one of its interface only, and names none.
    #[must_use]
    pub const fn lacks_zone(&self) -> bool {
        match self.address {
            IpAddr::V6(address) => address.is_unicast_link_local() && self.scope_id == 0,
            IpAddr::V4(_) => false,
        }
    }
}

impl fmt::Display for LocalAddressArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope_id {
            0 => self.address.fmt(f),
            index => write!(f, "{}%{index}", self.address),
        }
    }
}

/// The zone of an address as a name or an index, and as it is written in a URI (`%25eth0`, RFC 6874): the interface's index.
fn scope_id(address: Ipv6Addr, zone: &str) -> Result<u32, String> {
    let in_uri = zone.strip_prefix("25").filter(|rest| !rest.is_empty());
    interface_index(zone)
        .or_else(|| in_uri.and_then(interface_index))
        .ok_or_else(|| {
            format!(
                "{address} is written with the interface {zone:?}, which this host does not have; {}",
                interfaces()
            )
        })
}

/// The address of a host that is written as an IPv6 address with a zone; `None` for any other host.
///
/// # Errors
/// When there is no such interface.
pub(super) fn zoned_address(host: &str) -> Result<Option<String>, String> {
    let Some((address, zone)) = host.split_once('%') else {
        return Ok(None);
    };
    let Ok(address) = address.parse::<Ipv6Addr>() else {
        return Ok(None);
    };
    let scope_id = scope_id(address, zone)?;
    Ok(Some(format!("{address}%{scope_id}")))
}

/// Why a link-local address does not do without a zone.
pub(crate) fn missing_zone(address: &str) -> (String, String) {
    (
        format!("{address} is a link-local address, and names no interface"),
        format!("write it as {address}%NAME; {}", interfaces()),
    )
}

/// The interfaces of this machine, in words.
fn interfaces() -> String {
    let names: Vec<String> = interface_names()
        .into_iter()
        .filter(|name| name != "lo")
        .collect();
    match names.as_slice() {
        [] => "there is no interface beside lo".to_owned(),
        names => format!("interfaces here: {}", names.join(", ")),
    }
}

impl From<IpAddr> for LocalAddressArg {
    fn from(address: IpAddr) -> Self {
        Self {
            address,
            scope_id: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_a_name_or_an_index_and_may_be_written_as_in_a_uri() {
        let lo = interface_index("lo").unwrap();
        let read = |text: &str| text.parse::<LocalAddressArg>();
        for text in [
            "fe80::1%lo".to_owned(),
            format!("fe80::1%{lo}"),
            "[fe80::1%lo]".to_owned(),
            "[fe80::1%25lo]".to_owned(),
        ] {
            let local = read(&text).unwrap();
            assert_eq!(local.scope_id, lo, "{text}");
            assert_eq!(local.to_string(), format!("fe80::1%{lo}"));
            assert!(!local.lacks_zone());
        }
        assert!(read("fe80::1").unwrap().lacks_zone());
        assert!(!read("2001:db8::1").unwrap().lacks_zone());
        assert!(!read("192.0.2.1").unwrap().lacks_zone());
        for text in [
            "fe80::1%nosuch0",
            "fe80::1%",
            "192.0.2.1%lo",
            "far",
            "fe80::1%0",
        ] {
            let error = read(text).unwrap_err();
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
