//! Packets of IP that carry others.
//!
//! Source: RFC 2003 (IP in IP), RFC 4213 (IPv6 in IPv4), RFC 2784 and 2890 (GRE), RFC 2637 (GRE of PPTP), RFC 4023 (MPLS in IP), RFC 7348
//! (VXLAN), RFC 8926 (GENEVE), draft-foschiano-erspan.

use super::ip::{IpPacket, read_ip};
use super::layers::Layers;
use super::link::{IPV4, IPV6, LinkPayload, MPLS, behind_ppp, behind_type, follow};
use crate::bytes::{be16, be32};

const IP_IN_IP: u8 = 4;
const UDP: u8 = 17;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;
const MPLS_IN_IP: u8 = 137;
/// The port of VXLAN, and that of Linux before it had one.
const VXLAN_PORTS: [u16; 2] = [4789, 8472];
const GENEVE_PORT: u16 = 6081;
const ETHERNET: u16 = 0x6558;
const PPP: u16 = 0x880B;
const ERSPAN_2: u16 = 0x88BE;
const ERSPAN_3: u16 = 0x22EB;
/// Maximum depth of packets within packets.
const MAX_DEPTH: u32 = 4;

/// The innermost packet of some that carry one another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InnermostPacket<'a> {
    pub(crate) ip: IpPacket<'a>,
    /// Bytes of the outermost packet in front of it.
    pub(crate) encapsulation_bytes: u32,
    /// What these bytes are.
    pub(crate) layers: Layers,
    /// How many packets carry it.
    pub(crate) depth: u32,
}

/// `true` when a packet may carry another: all else is worth no further look.
#[inline]
pub(crate) fn may_carry_another(ip: &IpPacket<'_>) -> bool {
    match ip.protocol {
        UDP => {
            let port = be16(ip.payload, 2);
            port == GENEVE_PORT || VXLAN_PORTS.contains(&port)
        }
        IP_IN_IP | IPV6_IN_IP | GRE | MPLS_IN_IP => true,
        _ => false,
    }
}

/// The packet within all others; `None` when the packet carries none that can be read.
pub(crate) fn innermost<'a>(ip: &IpPacket<'a>) -> Option<InnermostPacket<'a>> {
    let mut found: Option<InnermostPacket<'a>> = None;
    for depth in 1..=MAX_DEPTH {
        let outer = found.map_or(*ip, |found| found.ip);
        // The rest of a fragmented packet is in other frames.
        if outer.fragment.is_some() || !may_carry_another(&outer) {
            break;
        }
        let Some((bytes, offset, layers)) = carried(&outer) else {
            break;
        };
        let Ok(inner) = read_ip(bytes, outer.payload_bytes.saturating_sub(offset)) else {
            break;
        };
        let version = |ip: &IpPacket<'_>| if ip.is_v6 { Layers::IPV6 } else { Layers::IPV4 };
        let before = found.map_or((0, Layers::NONE), |found| {
            (found.encapsulation_bytes, found.layers)
        });
        found = Some(InnermostPacket {
            ip: inner,
            encapsulation_bytes: before.0 + outer.header_bytes + offset,
            layers: before.1 | layers | version(&outer),
            depth,
        });
    }
    found
}

/// The packet that a packet carries, how far behind its headers that begins, and what is between.
fn carried<'a>(outer: &IpPacket<'a>) -> Option<(&'a [u8], u32, Layers)> {
    let data = outer.payload;
    let (at, kind, layer) = match outer.protocol {
        IP_IN_IP => (0, IPV4, Layers::IP_IN_IP),
        IPV6_IN_IP => (0, IPV6, Layers::IP_IN_IP),
        MPLS_IN_IP => (0, MPLS, Layers::NONE),
        GRE => {
            let (at, kind) = behind_gre(data)?;
            (at, kind, Layers::GRE)
        }
        UDP if be16(data, 2) == GENEVE_PORT => {
            let (at, kind) = behind_geneve(data)?;
            (at, kind, Layers::GENEVE | Layers::UDP)
        }
        UDP => (behind_vxlan(data)?, ETHERNET, Layers::VXLAN | Layers::UDP),
        _ => return None,
    };
    let rest = data.get(at..)?;
    let payload = match kind {
        ETHERNET => behind_type(rest, 12),
        PPP => {
            // Address and control in front may be left out (RFC 1661 section 6.6).
            let skipped = if rest.starts_with(&[0xff, 3]) { 2 } else { 0 };
            let (kind, length) = behind_ppp(rest.get(skipped..)?)?;
            follow(rest, kind, skipped + length)
        }
        kind => follow(rest, kind, 0),
    };
    match payload {
        LinkPayload::Ip(found) => Some((
            found.packet,
            at as u32 + found.header_bytes,
            layer | found.layers,
        )),
        _ => None,
    }
}

/// Where the payload of GRE begins, and its type.
fn behind_gre(data: &[u8]) -> Option<(usize, u16)> {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGEMENT: u16 = 0x0080;
    let flags = be16(data, 0);
    let word = |flag: u16| if flags & flag == 0 { 0 } else { 4 };
    let kind = be16(data, 2);
    let at = match flags & 7 {
        0 if flags & ROUTING == 0 => 4 + word(CHECKSUM) + word(KEY) + word(SEQUENCE),
        1 if kind == PPP => 8 + word(SEQUENCE) + word(ACKNOWLEDGEMENT),
        _ => return None,
    };
    match kind {
        // Without a sequence number it is ERSPAN of type I, which has no header of its own.
        ERSPAN_2 => Some((at + 2 * word(SEQUENCE), ETHERNET)),
        ERSPAN_3 => {
            // The lowest bit of its third word tells of a word pair behind it.
            let has_more = be32(data, at + 8) & 1 == 1;
            Some((at + 12 + if has_more { 8 } else { 0 }, ETHERNET))
        }
        kind => Some((at, kind)),
    }
}

/// Where the frame in a datagram of VXLAN begins; `None` when it is none: the port alone does not decide.
fn behind_vxlan(data: &[u8]) -> Option<usize> {
    let header = data.get(8..16)?;
    let is_header = header[0] == 8 && header[1..4] == [0; 3] && header[7] == 0;
    is_header.then_some(16)
}

/// Where the payload of GENEVE begins, and its type; `None` when it is another version.
fn behind_geneve(data: &[u8]) -> Option<(usize, u16)> {
    let header = data.get(8..16)?;
    let options = usize::from(header[0] & 0x3f) * 4;
    (header[0] >> 6 == 0 && header[7] == 0).then(|| (16 + options, be16(header, 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet of IPv4.
    fn packet(protocol: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![
            0x45,
            0,
            0,
            (20 + payload.len()) as u8,
            0,
            0,
            0,
            0,
            64,
            protocol,
        ];
        bytes.extend([0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(payload);
        bytes
    }

    fn datagram(port: u16, header: &[u8], inner: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xc0, 0];
        bytes.extend(port.to_be_bytes());
        bytes.extend(((8 + header.len() + inner.len()) as u16).to_be_bytes());
        bytes.extend([0, 0]);
        [&bytes, header, inner].concat()
    }

    fn look_into(bytes: &[u8]) -> Option<(u8, u32, Layers, u32)> {
        let outer = read_ip(bytes, bytes.len() as u32).unwrap();
        let found = innermost(&outer)?;
        Some((
            found.ip.protocol,
            found.encapsulation_bytes,
            found.layers,
            found.depth,
        ))
    }

    #[test]
    fn the_packet_is_found_in_every_encapsulation() {
        let inner = packet(6, &[0; 20]);
        let frame = [&[0; 12][..], &[8, 0], &inner].concat();
        let tagged = [&[0; 12][..], &[0x81, 0, 0, 1, 8, 0], &inner].concat();
        let gre = |flags: u8, kind: [u8; 2], rest: &[u8], inner: &[u8]| {
            packet(47, &[&[flags, 0, kind[0], kind[1]], rest, inner].concat())
        };
        let vxlan = [8, 0, 0, 0, 0, 0, 42, 0];
        let cases = [
            (packet(4, &inner), 20, Layers::IP_IN_IP),
            (
                packet(137, &[&[0, 2, 1, 64], &inner[..]].concat()),
                24,
                Layers::MPLS,
            ),
            (gre(0, [8, 0], &[], &inner), 24, Layers::GRE),
            (gre(0xb0, [8, 0], &[0; 12], &inner), 36, Layers::GRE),
            (
                gre(0x20, [0x65, 0x58], &[0; 4], &tagged),
                20 + 8 + 18,
                Layers::GRE | Layers::VLAN,
            ),
            (
                gre(0x10, [0x88, 0xbe], &[0; 12], &frame),
                20 + 16 + 14,
                Layers::GRE,
            ),
            (gre(0, [0x88, 0xbe], &[], &frame), 20 + 4 + 14, Layers::GRE),
            (
                packet(17, &datagram(4789, &vxlan, &frame)),
                20 + 16 + 14,
                Layers::VXLAN | Layers::UDP,
            ),
            (
                packet(
                    17,
                    &datagram(6081, &[1, 0, 0x65, 0x58, 0, 0, 1, 0, 1, 1, 1, 0], &frame),
                ),
                20 + 20 + 14,
                Layers::GENEVE | Layers::UDP,
            ),
        ];
        for (bytes, encapsulation, layers) in cases {
            let expected = Some((6, encapsulation, layers | Layers::IPV4, 1));
            assert_eq!(look_into(&bytes), expected);
        }
    }

    #[test]
    fn a_port_alone_makes_no_encapsulation() {
        let inner = packet(6, &[0; 20]);
        let frame = [&[0; 12][..], &[8, 0], &inner].concat();
        for header in [[0, 0, 0, 0, 0, 0, 42, 0], [8, 0, 0, 1, 0, 0, 42, 0]] {
            assert_eq!(
                look_into(&packet(17, &datagram(4789, &header, &frame))),
                None
            );
        }
        let broken = packet(17, &datagram(4789, &[8, 0, 0, 0, 0, 0, 1, 0], &frame[..20]));
        assert_eq!(look_into(&broken), None);
        assert_eq!(look_into(&packet(47, &[0, 9, 8, 0])), None);
    }

    #[test]
    fn packets_within_one_another_have_an_end() {
        let mut bytes = packet(6, &[0; 20]);
        for _ in 0..8 {
            bytes = packet(4, &bytes);
        }
        let found = look_into(&bytes).unwrap();
        assert_eq!((found.0, found.3), (4, MAX_DEPTH));
    }
}
