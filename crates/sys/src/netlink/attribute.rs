//! The attributes of netlink messages.

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

/// Appends attributes as the data of another one, with the flag `NLA_F_NESTED`, which generic netlink asks for.
pub(crate) fn push_nested(body: &mut Vec<u8>, kind: u16, data: &[u8]) {
    /// Source: include/uapi/linux/netlink.h.
    const NLA_F_NESTED: u16 = 1 << 15;
    push_attribute(body, kind | NLA_F_NESTED, data);
}

/// The bytes of nested attributes.
pub(super) fn nested(parts: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, data) in parts {
        push_attribute(&mut body, *kind, data);
    }
    body
}

/// The data of the `struct rtattr` in `bytes`, by kind; of several of one kind the last.
pub(crate) fn attributes(bytes: &[u8]) -> BTreeMap<u16, &[u8]> {
    attribute_list(bytes).collect()
}

/// The kinds and the data of the `struct rtattr` in `bytes`, in their order, up to the first that is not whole.
pub(crate) fn attribute_list(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = (raw::u16_at(bytes, 0)?, raw::u16_at(bytes, 2)?);
        let length = usize::from(length);
        let data = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        // The two highest bits are flags: `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER`.
        Some((kind & 0x3fff, data))
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn attributes_are_found_in_their_order_up_to_the_first_that_is_not_whole() {
        let mut bytes = Vec::new();
        push_attribute(&mut bytes, 7, b"a");
        push_nested(&mut bytes, 3, b"bcdef");
        push_attribute(&mut bytes, 7, b"");
        let whole: Vec<_> = attribute_list(&bytes).collect();
        assert_eq!(whole, [(7, &b"a"[..]), (3, b"bcdef"), (7, b"")]);
        assert_eq!(attributes(&bytes)[&7], b"");
        let cut: Vec<_> = attribute_list(&bytes[..bytes.len() - 9]).collect();
        assert_eq!(cut, whole[..1]);
        let too_short = [3, 0, 7, 0, 1, 0, 7, 0];
        assert_eq!(attribute_list(&too_short).count(), 0);
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_end(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(attribute_list(&bytes).count() <= bytes.len() / 4);
        }
    }
}
