//! ICMP errors (RFC 792, RFC 1191) and those of ICMPv6 (RFC 4443), tied to the packet they are about.

use super::ip::{PackedAddress, read_ip};
use crate::bytes::{be16, be32};

/// The protocol number of TCP.
const TCP: u8 = 6;

/// An error about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IcmpError {
    pub(crate) kind: IcmpErrorKind,
    pub(crate) protocol: u8,
    pub(crate) source: PackedAddress,
    pub(crate) destination: PackedAddress,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    /// The bytes of the packet, as its header has them.
    pub(crate) packet_bytes: u32,
    /// The sequence number of its segment, where it is one of TCP.
    pub(crate) seq: Option<u32>,
}

/// What an error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IcmpErrorKind {
    /// The packet is too big; the MTU of the next link, zero from old routers.
    TooBig { mtu: u32 },
    /// Nothing listens at the port.
    PortUnreachable,
    /// The destination cannot be reached, or must not be.
    Unreachable,
    /// The time to live ran out.
    TimeExceeded,
    /// Another error.
    Other,
}

/// The error in a message; `None` for other messages, and where the packet in it is not complete enough.
pub(crate) fn read_icmp_error(message: &[u8], is_v6: bool) -> Option<IcmpError> {
    let (&kind, &code) = (message.first()?, message.get(1)?);
    let kind = match (is_v6, kind, code) {
        (false, 3, 4) => IcmpErrorKind::TooBig {
            mtu: u32::from(be16(message, 6)),
        },
        (true, 2, _) => IcmpErrorKind::TooBig {
            mtu: be32(message, 4),
        },
        (false, 3, 3) | (true, 1, 4) => IcmpErrorKind::PortUnreachable,
        (false, 3, _) | (true, 1, _) => IcmpErrorKind::Unreachable,
        (false, 11, _) | (true, 3, _) => IcmpErrorKind::TimeExceeded,
        (false, 4 | 12, _) | (true, 4, _) => IcmpErrorKind::Other,
        _ => return None,
    };
    // Only the beginning of the packet is inside: its own length says more.
    let inner = read_ip(message.get(8..)?, u32::MAX).ok()?;
    if inner.payload.len() < 4 || inner.fragment.is_some_and(|part| part.offset > 0) {
        return None;
    }
    Some(IcmpError {
        kind,
        protocol: inner.protocol,
        source: inner.source,
        destination: inner.destination,
        source_port: be16(inner.payload, 0),
        destination_port: be16(inner.payload, 2),
        packet_bytes: inner.header_bytes + inner.payload_bytes,
        seq: (inner.protocol == TCP && inner.payload.len() >= 8).then(|| be32(inner.payload, 4)),
    })
}
