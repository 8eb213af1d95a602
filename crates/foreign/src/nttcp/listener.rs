//! Listening TCP sockets.

use caudal_sys::options;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

/// Listens on an address and port.
pub(super) fn listen(address: IpAddr, port: u16, device: Option<&str>) -> io::Result<TcpListener> {
    let local = SocketAddr::new(address, port);
    let socket = Socket::new(
        Domain::for_address(local),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    if let Some(device) = device {
        options::bind_device(&socket, device)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(local))?;
    socket.listen(128)?;
    Ok(socket.into())
}

/// Listens on a port of `address`, or of all addresses.
pub(super) fn listen_on_any(
    address: Option<IpAddr>,
    port: u16,
    device: Option<&str>,
) -> io::Result<TcpListener> {
    match address {
        Some(address) => listen(address, port, device),
        None => listen(Ipv6Addr::UNSPECIFIED.into(), port, device).or_else(|cause| {
            match cause.raw_os_error() {
                // A host without IPv6.
                Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) => {
                    listen(Ipv4Addr::UNSPECIFIED.into(), port, device)
                }
                _ => Err(cause),
            }
        }),
    }
}
