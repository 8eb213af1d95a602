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
    pub(super) mtu: u32,
    pub(super) qdisc: Option<String>,
    pub(super) alias: Option<String>,
}

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
        let attributes = attributes(reply.get(16..)?);
        Some(Self {
            name: text(attributes.get(&libc::IFLA_IFNAME)?),
            index: raw::u32_at(reply, 4)?,
            flags: raw::u32_at(reply, 8)?,
            mtu: raw::u32_at(attributes.get(&libc::IFLA_MTU)?, 0)?,
            qdisc: attributes.get(&libc::IFLA_QDISC).map(|kind| text(kind)),
            alias: attributes.get(&libc::IFLA_IFALIAS).map(|alias| text(alias)),
        })
    }
}

/// Sends one request in the namespace of the calling thread and returns the replies, each without its
/// `struct nlmsghdr`.
pub(super) fn request(kind: u16, flags: c_int, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    Netlink::open()?.request(kind, flags, body)
}
