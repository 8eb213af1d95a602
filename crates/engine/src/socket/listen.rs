//! A server's sockets.

use crate::address_validation::UnvalidatedSocket;
use caudal_sys::{options, tcp, udp};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

/// A listening TCP socket and a UDP socket on one port; without an address for IPv4 and IPv6.
///
/// # Errors
/// When the address or port is not available.
pub(crate) fn listen_tcp_and_udp(
    address: Option<IpAddr>,
    port: u16,
) -> io::Result<(TcpListener, UdpSocket, SocketAddr)> {
    match address {
        Some(address) => listen_on(address, port),
        None => listen_on(Ipv6Addr::UNSPECIFIED.into(), port).or_else(|cause| {
            match cause.raw_os_error() {
                // A host without IPv6.
                Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) => {
                    listen_on(Ipv4Addr::UNSPECIFIED.into(), port)
                }
                _ => Err(cause),
            }
        }),
    }
}

fn listen_on(address: IpAddr, port: u16) -> io::Result<(TcpListener, UdpSocket, SocketAddr)> {
    let mut attempts = 0;
    loop {
        let domain = Domain::for_address(SocketAddr::new(address, port));
        // A listener for Multipath TCP serves clients of plain TCP as well; a kernel without it serves only these.
        let listener = tcp::mptcp_socket(domain)
            .or_else(|_| Socket::new(domain, Type::STREAM, Some(Protocol::TCP)))?;
        if address == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            listener.set_only_v6(false)?;
        }
        listener.set_reuse_address(true)?;
        listener.bind(&SockAddr::from(SocketAddr::new(address, port)))?;
        listener.listen(1024)?;
        let local = listener
            .local_addr()?
            .as_socket()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        match udp_on(local) {
            Ok(udp) => return Ok((listener.into(), udp.into(), local)),
            // With port 0 the kernel chose one that UDP has taken: another will do.
            Err(_) if port == 0 && attempts < 16 => attempts += 1,
            Err(cause) => return Err(cause),
        }
    }
}

fn udp_on(local: SocketAddr) -> io::Result<Socket> {
    let udp = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    if local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        udp.set_only_v6(false)?;
    }
    // Reuse is set after binding, so that binding fails where another server already listens.
    udp.bind(&SockAddr::from(local))?;
    options::set_reuse(&udp)?;
    udp::enable_packet_info(&udp)?;
    Ok(udp)
}

/// A server's UDP socket for one flow: from the address the client sent to, connected to the client, from which `received`
/// bytes have arrived.
///
/// # Errors
/// When the kernel does not grant it.
pub(crate) fn reply_udp_socket(
    local: SocketAddr,
    peer: SocketAddr,
    received: usize,
) -> io::Result<UnvalidatedSocket> {
    let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))?;
    if peer.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    options::set_reuse(&socket)?;
    socket.bind(&SockAddr::from(local))?;
    socket.connect(&SockAddr::from(peer))?;
    Ok(UnvalidatedSocket::new(socket.into(), received))
}
