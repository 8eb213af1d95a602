//! Headers of links, IP, TCP and UDP, read where they are.

mod address;
mod icmp;
mod ip;
mod link;
mod tcp;

pub(crate) use address::PackedAddress;
pub(crate) use icmp::{IcmpError, IcmpErrorKind, read_icmp_error};
pub(crate) use ip::{FragmentPart, IpFault, IpPacket, read_ip};
pub(crate) use link::{LinkPayload, read_link};
pub(crate) use tcp::{TcpFault, TcpFlags, TcpHeader, read_tcp};
