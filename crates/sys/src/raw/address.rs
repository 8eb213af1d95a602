//! Socket addresses as the kernel writes them.

use std::ffi::c_int;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use super::bytes::{field, u16_at, u32_at};

/// A buffer for a `struct sockaddr_in` or `sockaddr_in6` that the kernel writes.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(8))]
pub(crate) struct SockaddrBuffer([u8; 28]);

impl SockaddrBuffer {
    /// The length of the buffer, bytes.
    pub(crate) const LENGTH: usize = size_of::<[u8; 28]>();

    /// The address at the beginning of `bytes`, which may be followed by others; `None` for one of another family.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<SocketAddr> {
        let mut buffer = Self::default();
        let filled = bytes.len().min(Self::LENGTH);
        buffer.0[..filled].copy_from_slice(&bytes[..filled]);
        buffer.decode(filled)
    }

    /// The start of the buffer, for the kernel to write to.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }

    /// The address in the first `filled` bytes; `None` for one of another family.
    ///
    /// Layout: `struct sockaddr_in` and `struct sockaddr_in6`, include/uapi/linux/in.h and in6.h.
    pub(crate) fn decode(&self, filled: usize) -> Option<SocketAddr> {
        let bytes = self.0.get(..filled)?;
        let port = u16::from_be_bytes(field(bytes, 2)?);
        match c_int::from(u16_at(bytes, 0)?) {
            libc::AF_INET => {
                let ip = Ipv4Addr::from(field::<4>(bytes, 4)?);
                Some(SocketAddrV4::new(ip, port).into())
            }
            libc::AF_INET6 => {
                let ip = Ipv6Addr::from(field::<16>(bytes, 8)?);
                let flow = u32_at(bytes, 4)?;
                Some(SocketAddrV6::new(ip, port, flow, u32_at(bytes, 24)?).into())
            }
            _ => None,
        }
    }
}

/// The destination in an `IP_PKTINFO` or `IPV6_PKTINFO` message, and the index of the interface by which the packet came.
pub(crate) fn packet_destination(level: c_int, kind: c_int, data: &[u8]) -> Option<(IpAddr, u32)> {
    match (level, kind) {
        // `ipi_addr`, the destination in the header, follows the index and the local address.
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
            Some((IpAddr::from(field::<4>(data, 8)?), u32_at(data, 0)?))
        }
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
            Some((IpAddr::from(field::<16>(data, 0)?), u32_at(data, 16)?))
        }
        _ => None,
    }
}
