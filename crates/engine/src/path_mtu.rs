//! The path MTU towards an address to which no connection is open.

use caudal_sys::udp;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The path MTU the kernel knows towards an address, bytes.
pub(crate) fn path_mtu(peer: SocketAddr) -> Option<u32> {
    let any = match peer {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(peer).ok()?;
    udp::path_mtu(&socket)
}
