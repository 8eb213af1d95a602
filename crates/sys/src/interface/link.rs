//! Links as rtnetlink describes them.

use std::ffi::c_int;
use std::io;

use crate::netlink::{Netlink, attributes, push_attribute, text};
use crate::raw;

/// The description of an interface in a reply to `RTM_GETLINK`.
pub(super) struct LinkMessage {
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) flags: u32,
    pub(super) hardware_type: u16,
    pub(super) mtu: u32,
    pub(super) qdisc: Option<String>,
    pub(super) alias: Option<String>,
    /// The kind of an interface that software makes, such as `veth`.
    pub(super) kind: Option<String>,
    /// The index of the interface on which it is stacked and by which its packets leave.
    pub(super) lower: Option<u32>,
}

/// The kinds of interfaces that send by the one on which they are stacked.
const STACKED: [&str; 4] = ["vlan", "macvlan", "macvtap", "ipvlan"];

impl LinkMessage {
    pub(super) fn by_name(name: &str) -> Option<Self> {
        let mut body = vec![0; 16];
        push_attribute(
            &mut body,
            libc::IFLA_IFNAME,
            &[name.as_bytes(), &[0]].concat(),
        );
        Self::decode(request(libc::RTM_GETLINK, 0, &body).ok()?.first()?)
    }

    pub(super) fn by_index(index: u32) -> Option<Self> {
        let mut body = [0; 16];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        Self::decode(request(libc::RTM_GETLINK, 0, &body).ok()?.first()?)
    }

    /// All interfaces of the namespace.
    pub(super) fn all() -> Vec<Self> {
        let replies = request(libc::RTM_GETLINK, libc::NLM_F_DUMP, &[0; 16]);
        replies
            .unwrap_or_default()
            .iter()
            .filter_map(|reply| Self::decode(reply))
            .collect()
    }

    /// Decodes a `struct ifinfomsg` (family, type, index, flags, change) and its attributes.
    fn decode(reply: &[u8]) -> Option<Self> {
        let found = attributes(reply.get(16..)?);
        let information = found.get(&libc::IFLA_LINKINFO).map(|info| attributes(info));
        let kind = information.and_then(|info| Some(text(info.get(&libc::IFLA_INFO_KIND)?)));
        // An index in another namespace means nothing here.
        let is_here = !found.contains_key(&libc::IFLA_LINK_NETNSID);
        let lower = kind
            .as_deref()
            .filter(|kind| is_here && STACKED.contains(kind))
            .and_then(|_| raw::u32_at(found.get(&libc::IFLA_LINK)?, 0));
        Some(Self {
            name: text(found.get(&libc::IFLA_IFNAME)?),
            index: raw::u32_at(reply, 4)?,
            flags: raw::u32_at(reply, 8)?,
            hardware_type: raw::u16_at(reply, 2)?,
            mtu: raw::u32_at(found.get(&libc::IFLA_MTU)?, 0)?,
            qdisc: found.get(&libc::IFLA_QDISC).map(|kind| text(kind)),
            alias: found.get(&libc::IFLA_IFALIAS).map(|alias| text(alias)),
            kind,
            lower,
        })
    }
}

/// Sends one request in the namespace of the calling thread and returns the replies, each without its
/// `struct nlmsghdr`.
pub(super) fn request(kind: u16, flags: c_int, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    Netlink::open()?.request(kind, flags, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::push_nested;

    /// A reply about an interface of this kind above interface 2.
    fn reply(kind: &str, namespace: Option<u32>) -> Vec<u8> {
        let mut reply = vec![0; 16];
        reply[2] = 1;
        reply[4] = 9;
        push_attribute(&mut reply, libc::IFLA_IFNAME, b"eth0.5\0");
        push_attribute(&mut reply, libc::IFLA_MTU, &1500_u32.to_ne_bytes());
        push_attribute(&mut reply, libc::IFLA_LINK, &2_u32.to_ne_bytes());
        if let Some(namespace) = namespace {
            let number = namespace.to_ne_bytes();
            push_attribute(&mut reply, libc::IFLA_LINK_NETNSID, &number);
        }
        let mut information = Vec::new();
        let kind = [kind.as_bytes(), &[0]].concat();
        push_attribute(&mut information, libc::IFLA_INFO_KIND, &kind);
        push_nested(&mut reply, libc::IFLA_LINKINFO, &information);
        reply
    }

    #[test]
    fn a_vlan_is_stacked_on_another_interface_and_a_veth_is_not() {
        let lower = |reply: &[u8]| LinkMessage::decode(reply).unwrap().lower;
        let table = [
            ("vlan", None, Some(2)),
            ("macvlan", None, Some(2)),
            ("vlan", Some(1), None),
            ("veth", None, None),
        ];
        for (kind, namespace, expected) in table {
            assert_eq!(lower(&reply(kind, namespace)), expected, "{kind}");
        }
        let vlan = LinkMessage::decode(&reply("vlan", None)).unwrap();
        assert_eq!(
            (vlan.kind.as_deref(), vlan.hardware_type),
            (Some("vlan"), 1)
        );
    }

    #[test]
    fn a_reply_that_is_cut_is_none_or_has_less() {
        let whole = reply("vlan", None);
        for length in 0..whole.len() {
            let cut = LinkMessage::decode(&whole[..length]);
            assert!(cut.is_none_or(|link| link.name == "eth0.5"), "{length}");
        }
    }
}
