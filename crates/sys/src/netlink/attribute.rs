//! The attributes of rtnetlink messages.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::raw;

/// Appends a `struct rtattr` with `data`, padded to four bytes.
pub(crate) fn push_attribute(body: &mut Vec<u8>, kind: u16, data: &[u8]) {
    body.extend_from_slice(&((4 + data.len()) as u16).to_ne_bytes());
    body.extend_from_slice(&kind.to_ne_bytes());
    body.extend_from_slice(data);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// The bytes of nested attributes.
pub(super) fn nested(parts: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, data) in parts {
        push_attribute(&mut body, *kind, data);
    }
    body
}

/// The data of the `struct rtattr` in `bytes`, by kind.
pub(crate) fn attributes(mut bytes: &[u8]) -> BTreeMap<u16, &[u8]> {
    let mut found = BTreeMap::new();
    while let (Some(length), Some(kind)) = (raw::u16_at(bytes, 0), raw::u16_at(bytes, 2)) {
        let length = usize::from(length);
        let Some(data) = bytes.get(4..length) else {
            break;
        };
        // The two highest bits are flags: `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER`.
        found.insert(kind & 0x3fff, data);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

/// The address family of an address.
pub(crate) fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

/// The bytes of an address.
pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// The bytes of a text with a zero byte at its end.
pub(super) fn c_text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// The text before the first zero byte.
pub(crate) fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// The address of four or sixteen bytes; `None` for another number of them.
pub(crate) fn ip_address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from))
        .ok()
}
