//! Link headers: what is behind them.
//!
//! Source: the registry of link types, tcpdump.org/linktypes.html; IEEE 802.3 and 802.1Q; RFC 2516 (PPPoE); RFC 3032 (MPLS).

use super::layers::Layers;
use crate::bytes::{be16, be32};
use crate::read::{FrameOrigin, LinkType};

/// The fields of a link header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkHeader<'a> {
    pub(crate) payload: LinkPayload<'a>,
    /// Whether the host sent the frame, where the header records it.
    pub(crate) origin: FrameOrigin,
    /// The index of the interface on its host, where the header records it; else 0.
    pub(crate) interface: u32,
}

/// What a link header carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkPayload<'a> {
    /// A packet of IPv4 or IPv6.
    Ip(LinkedPacket<'a>),
    /// Another EtherType; below 0x0600 the length of an IEEE 802.3 frame.
    Other(u16),
    /// A link type that is not read here.
    UnknownLink,
    /// Fewer bytes than the header has.
    CutOff,
}

/// A packet of IP behind a link header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkedPacket<'a> {
    /// The packet, as far as it was kept.
    pub(crate) packet: &'a [u8],
    /// Bytes of the frame in front of it.
    pub(crate) header_bytes: u32,
    /// Those of them behind the header that every frame of the link has.
    pub(crate) encapsulation_bytes: u32,
    /// What these bytes are.
    pub(crate) layers: Layers,
}

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86DD;
const PPPOE_SESSION: u16 = 0x8864;
pub(super) const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
/// PPP's numbers of IPv4, IPv6 and MPLS (RFC 1332, RFC 5072, RFC 3032 section 4.1).
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_MPLS: u16 = 0x0281;
/// LLC and SNAP in front of an EtherType (IEEE 802, RFC 1042).
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];
/// Maximum number of headers between that of the link and IP: tags, PPPoE, labels of MPLS.
const MAX_HEADERS: u32 = 16;

#[inline]
const fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, 0x8100 | 0x88A8 | 0x9100)
}

/// Reads the link header.
#[inline]
pub(crate) fn read_link(link_type: LinkType, data: &[u8]) -> LinkHeader<'_> {
    let (payload, origin, interface) = match link_type {
        LinkType::Ethernet => (behind_type(data, 12), FrameOrigin::Unknown, 0),
        LinkType::LinuxCooked => (behind_type(data, 14), cooked_origin(be16(data, 0)), 0),
        LinkType::LinuxCooked2 => {
            let kind = data.get(10).copied().unwrap_or(0);
            let origin = cooked_origin(u16::from(kind));
            (cooked2(data), origin, be32(data, 4))
        }
        LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 => {
            (ip_behind(data, 0, 0, Layers::NONE), FrameOrigin::Unknown, 0)
        }
        LinkType::Null | LinkType::Loop => (loopback(data), FrameOrigin::Unknown, 0),
        LinkType::Other(_) => (LinkPayload::UnknownLink, FrameOrigin::Unknown, 0),
    };
    LinkHeader {
        payload,
        origin,
        interface,
    }
}

/// The packet behind an EtherType at `at`.
#[inline]
pub(super) fn behind_type(data: &[u8], at: usize) -> LinkPayload<'_> {
    if data.len() < at + 2 {
        return LinkPayload::CutOff;
    }
    match be16(data, at) {
        IPV4 | IPV6 => ip_behind(data, at + 2, 0, Layers::NONE),
        other => follow(data, other, at + 2),
    }
}

/// The packet behind the headers that an EtherType announces; they begin at `at`.
pub(super) fn follow(data: &[u8], first: u16, at: usize) -> LinkPayload<'_> {
    let (mut kind, mut next, mut layers) = (first, at, Layers::NONE);
    for _ in 0..MAX_HEADERS {
        if data.len() < next + 2 {
            return match kind {
                IPV4 | IPV6 | PPPOE_SESSION | MPLS | MPLS_MULTICAST => LinkPayload::CutOff,
                tag if is_tag(tag) => LinkPayload::CutOff,
                other => LinkPayload::Other(other),
            };
        }
        match kind {
            IPV4 | IPV6 => return ip_behind(data, next, next - at, layers),
            tag if is_tag(tag) => {
                if data.len() < next + 4 {
                    return LinkPayload::CutOff;
                }
                kind = be16(data, next + 2);
                (next, layers) = (next + 4, layers | Layers::VLAN);
            }
            PPPOE_SESSION => {
                let Some((inner, bytes)) = behind_ppp(data.get(next + 6..).unwrap_or(&[])) else {
                    return LinkPayload::Other(PPPOE_SESSION);
                };
                (kind, next, layers) = (inner, next + 6 + bytes, layers | Layers::PPPOE);
            }
            MPLS | MPLS_MULTICAST => {
                layers = layers | Layers::MPLS;
                let is_last = data.get(next + 2).is_some_and(|byte| byte & 1 == 1);
                next += 4;
                if is_last {
                    match behind_labels(data, next) {
                        Some((inner, begin)) => (kind, next) = (inner, begin),
                        None => return LinkPayload::Other(MPLS),
                    }
                }
            }
            _ if kind < 0x0600 && data[next..].starts_with(&SNAP) && data.len() >= next + 8 => {
                kind = be16(data, next + 6);
                next += 8;
            }
            other => return LinkPayload::Other(other),
        }
    }
    LinkPayload::Other(kind)
}

/// The EtherType of what PPP carries, and the bytes of its own header; `None` where it carries neither IP nor MPLS.
pub(super) fn behind_ppp(bytes: &[u8]) -> Option<(u16, usize)> {
    // RFC 1661 section 6.5: a number whose first byte is odd was compressed to it.
    let (number, length) = match bytes.first()? {
        odd if odd & 1 == 1 => (u16::from(*odd), 1),
        _ => (be16(bytes, 0), 2),
    };
    let kind = match number {
        PPP_IPV4 => IPV4,
        PPP_IPV6 => IPV6,
        PPP_MPLS => MPLS,
        _ => return None,
    };
    Some((kind, length))
}

/// What follows the last label of MPLS: IP is recognised by the packet's version. A pseudowire with a control word (RFC 4385) carries a frame of Ethernet.
fn behind_labels(data: &[u8], at: usize) -> Option<(u16, usize)> {
    match data.get(at)? >> 4 {
        4 => Some((IPV4, at)),
        6 => Some((IPV6, at)),
        0 if data.len() >= at + 4 + 14 => Some((be16(data, at + 4 + 12), at + 4 + 14)),
        _ => None,
    }
}

/// SLL2 has its protocol in front of a header of 20 bytes.
fn cooked2(data: &[u8]) -> LinkPayload<'_> {
    if data.len() < 20 {
        return LinkPayload::CutOff;
    }
    match be16(data, 0) {
        IPV4 | IPV6 => ip_behind(data, 20, 0, Layers::NONE),
        other => follow(data, other, 20),
    }
}

/// The address family is 2 for IPv4 and one of several numbers for IPv6; the packet's version decides.
fn loopback(data: &[u8]) -> LinkPayload<'_> {
    let family = be32(data, 0);
    let family = if family > 0xffff {
        family.swap_bytes()
    } else {
        family
    };
    match family {
        2 | 10 | 24 | 28 | 30 => ip_behind(data, 4, 0, Layers::NONE),
        _ if data.len() < 4 => LinkPayload::CutOff,
        other => LinkPayload::Other(other as u16),
    }
}

#[inline]
fn ip_behind(data: &[u8], at: usize, encapsulation: usize, layers: Layers) -> LinkPayload<'_> {
    match data.get(at..) {
        Some(packet) if !packet.is_empty() => LinkPayload::Ip(LinkedPacket {
            packet,
            header_bytes: at as u32,
            encapsulation_bytes: encapsulation as u32,
            layers,
        }),
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

    /// Bytes in front of the packet, those of them that encapsulate, and what they are.
    fn found(link_type: LinkType, bytes: &[&[u8]]) -> Option<(u32, u32, Layers)> {
        match read_link(link_type, &bytes.concat()).payload {
            LinkPayload::Ip(found) => {
                assert!(matches!(found.packet[0] >> 4, 4 | 6));
                Some((found.header_bytes, found.encapsulation_bytes, found.layers))
            }
            _ => None,
        }
    }

    const MACS: &[u8] = &[0; 12];
    const IP: &[u8] = &[0x45, 0, 0, 20];

    #[test]
    fn the_packet_is_found_behind_every_link_header() {
        type Case<'a> = (LinkType, &'a [&'a [u8]], Option<u32>);
        let cases: [Case<'_>; 7] = [
            (LinkType::Ethernet, &[MACS, &[8, 0], IP], Some(14)),
            (LinkType::Ethernet, &[MACS, &[8, 6], IP], None),
            (LinkType::Raw, &[IP], Some(0)),
            (LinkType::Null, &[&[2, 0, 0, 0], IP], Some(4)),
            (LinkType::Loop, &[&[0, 0, 0, 24], IP], Some(4)),
            (LinkType::LinuxCooked, &[&[0; 14], &[8, 0], IP], Some(16)),
            (LinkType::LinuxCooked2, &[&[8, 0], &[0; 18], IP], Some(20)),
        ];
        for (link_type, bytes, header_bytes) in cases {
            let expected = header_bytes.map(|header_bytes| (header_bytes, 0, Layers::NONE));
            assert_eq!(found(link_type, bytes), expected, "{link_type:?}");
        }
    }

    #[test]
    fn the_packet_is_found_behind_tags_sessions_and_labels() {
        let tag: &[u8] = &[0, 5];
        let session: &[u8] = &[0x11, 0, 0, 7, 0, 22];
        let (label, last): (&[u8], &[u8]) = (&[0, 1, 0, 64], &[0, 2, 1, 64]);
        type Case<'a> = (&'a [&'a [u8]], u32, Layers);
        let cases: [Case<'_>; 8] = [
            (&[&[0x81, 0], tag, &[8, 0]], 4, Layers::VLAN),
            (
                &[&[0x88, 0xa8], tag, &[0x81, 0], tag, &[0x86, 0xdd]],
                8,
                Layers::VLAN,
            ),
            (&[&[0x88, 0x64], session, &[0, 0x21]], 8, Layers::PPPOE),
            (&[&[0x88, 0x64], session, &[0x57]], 7, Layers::PPPOE),
            (
                &[&[0x81, 0], tag, &[0x88, 0x64], session, &[0, 0x21]],
                12,
                Layers::VLAN | Layers::PPPOE,
            ),
            (&[&[0x88, 0x47], last], 4, Layers::MPLS),
            (&[&[0x88, 0x47], label, label, last], 12, Layers::MPLS),
            (
                &[
                    &[0x88, 0x47],
                    label,
                    last,
                    &[0; 4],
                    MACS,
                    &[0x81, 0],
                    tag,
                    &[8, 0],
                ],
                8 + 4 + 14 + 4,
                Layers::MPLS | Layers::VLAN,
            ),
        ];
        for (bytes, encapsulation, layers) in cases {
            let frame = [&[MACS], bytes, &[IP]].concat();
            let expected = Some((14 + encapsulation, encapsulation, layers));
            assert_eq!(found(LinkType::Ethernet, &frame), expected, "{bytes:?}");
            // Linux's cooked header has the EtherType in front.
            let (kind, rest) = bytes[0].split_at(2);
            let cooked = [&[kind, &[0; 18], rest], &bytes[1..], &[IP]].concat();
            let expected = Some((20 + encapsulation, encapsulation, layers));
            assert_eq!(
                found(LinkType::LinuxCooked2, &cooked),
                expected,
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn what_carries_no_ip_is_named_by_its_type_and_headers_have_an_end() {
        let discovery = [MACS, &[0x88, 0x63, 0x11, 9, 0, 0, 0, 0]].concat();
        fn of(bytes: &[u8]) -> LinkPayload<'_> {
            read_link(LinkType::Ethernet, bytes).payload
        }
        assert_eq!(of(&discovery), LinkPayload::Other(0x8863));
        let link_control = [MACS, &[0x88, 0x64], &[0x11, 0, 0, 7, 0, 8, 0xc0, 0x21, 9]].concat();
        assert_eq!(of(&link_control), LinkPayload::Other(0x8864));
        let cut = [MACS, &[0x88, 0x47, 0, 1]].concat();
        assert_eq!(of(&cut), LinkPayload::CutOff);
        let tags = [MACS, &[0x81, 0, 0, 1].repeat(100)].concat();
        assert_eq!(of(&tags), LinkPayload::Other(0x8100));
    }

    #[test]
    fn a_cooked_header_tells_what_the_host_sent() {
        let sent = [&[0, 4][..], &[0; 12], &[8, 0, 0x45]].concat();
        let header = read_link(LinkType::LinuxCooked, &sent);
        assert_eq!(header.origin, FrameOrigin::Sent);
    }
}
