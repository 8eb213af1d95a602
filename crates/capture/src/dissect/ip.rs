//! IPv4 (RFC 791) and IPv6 with its extension headers (RFC 8200).

use crate::bytes::{be16, be32, be128};
use std::net::{IpAddr, Ipv6Addr};

/// An address; one of IPv4 is kept as the IPv6 address that maps it (RFC 4291 section 2.5.5.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PackedAddress(pub(crate) u128);

impl PackedAddress {
    const MAPPED: u128 = 0xffff << 32;

    /// The IPv4 address with these bits.
    #[inline]
    pub(crate) const fn v4(bits: u32) -> Self {
        Self(Self::MAPPED | bits as u128)
    }

    /// The address as the standard library has it.
    pub(crate) fn ip(self) -> IpAddr {
        Ipv6Addr::from_bits(self.0).to_canonical()
    }
}

impl From<IpAddr> for PackedAddress {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::v4(address.to_bits()),
            IpAddr::V6(address) => Self(address.to_bits()),
        }
    }
}

/// A packet of IP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IpPacket<'a> {
    pub(crate) source: PackedAddress,
    pub(crate) destination: PackedAddress,
    /// The protocol behind all headers of IP.
    pub(crate) protocol: u8,
    pub(crate) is_v6: bool,
    pub(crate) ttl: u8,
    /// DSCP and ECN.
    pub(crate) tos: u8,
    /// Don't Fragment; always for IPv6.
    pub(crate) df: bool,
    /// The identification of IPv4; zero for IPv6.
    pub(crate) id: u16,
    /// Bytes of all headers of IP.
    pub(crate) header_bytes: u32,
    /// Bytes behind them, as the packet's length has it.
    pub(crate) payload_bytes: u32,
    /// What was kept of them.
    pub(crate) payload: &'a [u8],
    pub(crate) fragment: Option<FragmentPart>,
}

/// Which part of a packet a fragment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FragmentPart {
    pub(crate) id: u32,
    /// Bytes of the packet's payload in front of it.
    pub(crate) offset: u32,
    /// More fragments follow it.
    pub(crate) more: bool,
}

/// Why a packet cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IpFault {
    /// The frame was cut off within the headers.
    CutOff,
    /// The headers contradict themselves.
    Malformed,
}

/// Reads the headers of a packet that had `original` bytes on the link, of which `bytes` were kept.
#[inline]
pub(crate) fn read_ip(bytes: &[u8], original: u32) -> Result<IpPacket<'_>, IpFault> {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => read_v4(bytes, original),
        Some(6) => read_v6(bytes, original),
        Some(_) => Err(IpFault::Malformed),
        None => Err(IpFault::CutOff),
    }
}

#[inline]
fn read_v4(bytes: &[u8], original: u32) -> Result<IpPacket<'_>, IpFault> {
    let Some(header) = bytes.first_chunk::<20>() else {
        return Err(IpFault::CutOff);
    };
    let header_bytes = u32::from(header[0] & 15) * 4;
    // A length of zero is a packet that TSO will split, or BIG TCP: the frame's own length counts.
    let total = match u32::from(be16(header, 2)) {
        0 => original,
        total => total,
    };
    if header_bytes < 20 || total < header_bytes || total > original {
        return Err(IpFault::Malformed);
    }
    let Some(payload) = bytes.get(header_bytes as usize..) else {
        return Err(IpFault::CutOff);
    };
    let payload_bytes = total - header_bytes;
    let flags = be16(header, 6);
    let id = be16(header, 4);
    let part = flags & 0x3fff;
    Ok(IpPacket {
        source: PackedAddress::v4(be32(header, 12)),
        destination: PackedAddress::v4(be32(header, 16)),
        protocol: header[9],
        is_v6: false,
        ttl: header[8],
        tos: header[1],
        df: flags & 0x4000 != 0,
        id,
        header_bytes,
        payload_bytes,
        payload: &payload[..payload.len().min(payload_bytes as usize)],
        fragment: (part != 0).then_some(FragmentPart {
            id: u32::from(id),
            offset: u32::from(part & 0x1fff) * 8,
            more: part & 0x2000 != 0,
        }),
    })
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
/// Maximum number of extension headers followed.
const MAX_EXTENSIONS: u32 = 8;

/// The protocol behind the extension headers, where it begins, and the fragment that they describe.
fn follow_extensions(
    bytes: &[u8],
    first: u8,
) -> Result<(u8, usize, Option<FragmentPart>), IpFault> {
    let (mut protocol, mut at, mut fragment) = (first, 40, None);
    for _ in 0..MAX_EXTENSIONS {
        let length = match protocol {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => {
                8 + bytes.get(at + 1).map_or(0, |n| usize::from(*n)) * 8
            }
            AUTHENTICATION => 8 + bytes.get(at + 1).map_or(0, |n| usize::from(*n)) * 4,
            FRAGMENT => 8,
            _ => break,
        };
        if bytes.len() < at + length {
            return Err(IpFault::CutOff);
        }
        if protocol == FRAGMENT {
            let field = be16(bytes, at + 2);
            fragment = Some(FragmentPart {
                id: be32(bytes, at + 4),
                offset: u32::from(field & 0xfff8),
                more: field & 1 != 0,
            });
        }
        protocol = bytes[at];
        at += length;
        // What follows another fragment than the first is not a header.
        if fragment.is_some_and(|fragment| fragment.offset > 0) {
            break;
        }
    }
    Ok((protocol, at, fragment))
}

fn read_v6(bytes: &[u8], original: u32) -> Result<IpPacket<'_>, IpFault> {
    let Some(header) = bytes.first_chunk::<40>() else {
        return Err(IpFault::CutOff);
    };
    // A length of zero is a jumbogram (RFC 2675) or BIG TCP: the frame's own length counts.
    let total = match u32::from(be16(header, 4)) {
        0 => original,
        length => 40 + length,
    };
    if total > original {
        return Err(IpFault::Malformed);
    }
    let (protocol, at, fragment) = follow_extensions(bytes, header[6])?;
    // A fragment that is the whole packet (RFC 6946) is no fragment.
    let fragment = fragment.filter(|part| part.offset > 0 || part.more);
    let Some(payload_bytes) = total.checked_sub(at as u32) else {
        return Err(IpFault::Malformed);
    };
    let payload = bytes.get(at..).unwrap_or(&[]);
    Ok(IpPacket {
        source: PackedAddress(be128(header, 8)),
        destination: PackedAddress(be128(header, 24)),
        protocol,
        is_v6: true,
        ttl: header[7],
        tos: (be16(header, 0) >> 4) as u8,
        df: true,
        id: 0,
        header_bytes: at as u32,
        payload_bytes,
        payload: &payload[..payload.len().min(payload_bytes as usize)],
        fragment,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v6(next: u8, behind: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x6a, 0xb0, 0, 0];
        bytes.extend((behind.len() as u16).to_be_bytes());
        bytes.extend([next, 61]);
        bytes.extend([0; 32]);
        bytes.extend_from_slice(behind);
        bytes
    }

    #[test]
    fn extension_headers_are_followed_to_the_transport() {
        let bytes = v6(
            HOP_BY_HOP,
            &[
                60, 0, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9,
            ],
        );
        let packet = read_ip(&bytes, bytes.len() as u32).unwrap();
        assert_eq!(
            (packet.protocol, packet.header_bytes, packet.payload),
            (6, 64, &[9][..])
        );
        assert_eq!((packet.tos, packet.ttl), (0xab, 61));
    }

    #[test]
    fn a_fragment_header_tells_the_part() {
        let bytes = v6(FRAGMENT, &[17, 0, 0x05, 0xa9, 0, 0, 0, 7, 1, 2]);
        let packet = read_ip(&bytes, bytes.len() as u32).unwrap();
        let part = FragmentPart {
            id: 7,
            offset: 1448,
            more: true,
        };
        assert_eq!((packet.protocol, packet.fragment), (17, Some(part)));
    }

    #[test]
    fn padding_of_short_frames_is_no_payload_and_a_length_of_zero_is_the_frames() {
        let mut bytes = [0; 46];
        bytes[0] = 0x45;
        bytes[3] = 24;
        assert_eq!(read_ip(&bytes, 46).unwrap().payload.len(), 4);
        bytes[3] = 0;
        assert_eq!(read_ip(&bytes, 70_000).unwrap().payload_bytes, 69_980);
    }

    #[test]
    fn a_packet_longer_than_its_frame_is_malformed() {
        let mut bytes = [0; 46];
        bytes[0] = 0x45;
        bytes[3] = 47;
        assert_eq!(read_ip(&bytes, 46).unwrap_err(), IpFault::Malformed);
        assert_eq!(read_ip(&bytes[..10], 46).unwrap_err(), IpFault::CutOff);
    }
}
