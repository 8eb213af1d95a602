//! Link headers: what is behind them.
//!
//! Source: the registry of link types, tcpdump.org/linktypes.html; IEEE 802.3 and 802.1Q.

use crate::bytes::{be16, be32};
use crate::read::{FrameOrigin, LinkType};

/// What a link header carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkPayload<'a> {
    /// A packet of IPv4 or IPv6.
    Ip {
        /// The packet, as far as it was kept.
        packet: &'a [u8],
        /// Bytes of the frame in front of it.
        header_bytes: u32,
        /// VLAN tags among them.
        tags: u32,
    },
    /// Another EtherType; below 0x0600 the length of an IEEE 802.3 frame.
    Other(u16),
    /// A link type that is not read here.
    UnknownLink,
    /// Fewer bytes than the header has.
    CutOff,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;

#[inline]
const fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, 0x8100 | 0x88A8 | 0x9100)
}

/// Reads the link header; also tells whether the host sent the frame, where the header does.
#[inline]
pub(crate) fn read_link(link_type: LinkType, data: &[u8]) -> (LinkPayload<'_>, FrameOrigin) {
    let unknown = FrameOrigin::Unknown;
    match link_type {
        LinkType::Ethernet => (after_type(data, 12), unknown),
        LinkType::LinuxCooked => (after_type(data, 14), cooked_origin(be16(data, 0))),
        LinkType::LinuxCooked2 => {
            let kind = data.get(10).copied().unwrap_or(0);
            (cooked2(data), cooked_origin(u16::from(kind)))
        }
        LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 => (ip_behind(data, 0, 0), unknown),
        LinkType::Null | LinkType::Loop => (loopback(data), unknown),
        LinkType::Other(_) => (LinkPayload::UnknownLink, unknown),
    }
}

/// The packet behind an EtherType at `at` and the tags that follow it.
#[inline]
fn after_type(data: &[u8], at: usize) -> LinkPayload<'_> {
    let (mut at, mut tags) = (at, 0);
    loop {
        if data.len() < at + 2 {
            return LinkPayload::CutOff;
        }
        match be16(data, at) {
            IPV4 | IPV6 => return ip_behind(data, at + 2, tags),
            tag if is_tag(tag) && tags < 4 => {
                at += 4;
                tags += 1;
            }
            other => return LinkPayload::Other(other),
        }
    }
}

/// SLL2 has its protocol in front; a tagged frame's tag follows the header of 20 bytes.
fn cooked2(data: &[u8]) -> LinkPayload<'_> {
    if data.len() < 20 {
        return LinkPayload::CutOff;
    }
    match be16(data, 0) {
        IPV4 | IPV6 => ip_behind(data, 20, 0),
        tag if is_tag(tag) => after_type(data, 22),
        other => LinkPayload::Other(other),
    }
}

/// The address family is 2 for IPv4 and one of several numbers for IPv6; the packet's version tells which.
fn loopback(data: &[u8]) -> LinkPayload<'_> {
    let family = be32(data, 0);
    let family = if family > 0xffff {
        family.swap_bytes()
    } else {
        family
    };
    match family {
        2 | 10 | 24 | 28 | 30 => ip_behind(data, 4, 0),
        _ if data.len() < 4 => LinkPayload::CutOff,
        other => LinkPayload::Other(other as u16),
    }
}

#[inline]
fn ip_behind(data: &[u8], at: usize, tags: u32) -> LinkPayload<'_> {
    match data.get(at..) {
        Some(packet) if !packet.is_empty() => LinkPayload::Ip {
            packet,
            header_bytes: at as u32,
            tags,
        },
        _ => LinkPayload::CutOff,
    }
}

/// `sll_pkttype`: 4 for what the host sent, 0 to 2 for what it received.
const fn cooked_origin(kind: u16) -> FrameOrigin {
    match kind {
        0..=2 => FrameOrigin::Received,
        4 => FrameOrigin::Sent,
        _ => FrameOrigin::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header_bytes(link_type: LinkType, hex: &[&[u8]]) -> Option<(u32, u32)> {
        match read_link(link_type, &hex.concat()).0 {
            LinkPayload::Ip {
                header_bytes, tags, ..
            } => Some((header_bytes, tags)),
            _ => None,
        }
    }

    #[test]
    fn the_packet_is_found_behind_every_link_header() {
        let ip: &[u8] = &[0x45, 0, 0, 20];
        let macs: &[u8] = &[0; 12];
        type Case<'a> = (LinkType, &'a [&'a [u8]], Option<(u32, u32)>);
        let cases: [Case<'_>; 9] = [
            (LinkType::Ethernet, &[macs, &[8, 0], ip], Some((14, 0))),
            (
                LinkType::Ethernet,
                &[macs, &[0x81, 0, 0, 5, 8, 0], ip],
                Some((18, 1)),
            ),
            (
                LinkType::Ethernet,
                &[macs, &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 5, 0x86, 0xdd], ip],
                Some((22, 2)),
            ),
            (LinkType::Ethernet, &[macs, &[8, 6], ip], None),
            (LinkType::Raw, &[ip], Some((0, 0))),
            (LinkType::Null, &[&[2, 0, 0, 0], ip], Some((4, 0))),
            (LinkType::Loop, &[&[0, 0, 0, 24], ip], Some((4, 0))),
            (
                LinkType::LinuxCooked,
                &[&[0; 14], &[8, 0], ip],
                Some((16, 0)),
            ),
            (
                LinkType::LinuxCooked2,
                &[&[8, 0], &[0; 18], ip],
                Some((20, 0)),
            ),
        ];
        for (link_type, bytes, expected) in cases {
            assert_eq!(header_bytes(link_type, bytes), expected, "{link_type:?}");
        }
    }

    #[test]
    fn a_cooked_header_tells_what_the_host_sent() {
        let sent = [&[0, 4][..], &[0; 12], &[8, 0, 0x45]].concat();
        assert_eq!(read_link(LinkType::LinuxCooked, &sent).1, FrameOrigin::Sent);
    }
}
