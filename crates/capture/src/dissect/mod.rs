//! Headers of links, IP, TCP and UDP, read where they are.

mod icmp;
mod ip;
mod layers;
mod link;
mod tcp;
mod tunnel;

pub(crate) use icmp::{IcmpError, IcmpErrorKind, read_icmp_error};
pub(crate) use ip::{FragmentPart, IpFault, IpPacket, PackedAddress, read_ip};
pub(crate) use layers::Layers;
pub(crate) use link::{LinkPayload, read_link};
pub(crate) use tcp::{TcpFault, TcpFlags, TcpHeader, read_tcp};
pub(crate) use tunnel::{innermost, may_carry_another};
