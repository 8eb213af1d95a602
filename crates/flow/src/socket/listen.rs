//! A server's sockets.

use crate::address_validation::UnvalidatedSocket;
use caudal_sys::{options, tcp, udp};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

/// A listening TCP socket and a UDP socket on one port.
pub struct ListeningSockets {
    /// The TCP socket.
    pub tcp: TcpListener,
    /// The UDP socket.
    pub udp: UdpSocket,
    /// Their address and port.
    pub local: SocketAddr,
    /// The reason why they are of IPv4 only, where they were to be of both.
    pub without_v6: Option<io::Error>,
}

/// A listening TCP socket and a UDP socket on an address and port; without an address on `port`, for IPv4 and IPv6; with a device for what comes by that
/// interface, or VRF, alone.
///
/// # Errors
/// When the address or port is not available.
pub fn listen_tcp_and_udp(
    address: Option<SocketAddr>,
    port: u16,
    device: Option<&str>,
) -> io::Result<ListeningSockets> {
    match address {
        Some(address) => listen_on(address, device),
        None => listen_on((Ipv6Addr::UNSPECIFIED, port).into(), device).or_else(|cause| {
            match cause.raw_os_error() {
                // A host without IPv6.
                Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) => {
                    let listening = listen_on((Ipv4Addr::UNSPECIFIED, port).into(), device)?;
                    Ok(ListeningSockets {
                        without_v6: Some(cause),
                        ..listening
                    })
                }
                _ => Err(cause),
            }
        }),
    }
}

fn listen_on(address: SocketAddr, device: Option<&str>) -> io::Result<ListeningSockets> {
    let mut attempts = 0;
    loop {
        let domain = Domain::for_address(address);
        // A listener for Multipath TCP serves clients of plain TCP as well; a kernel without it serves only these.
        let listener = tcp::mptcp_socket(domain)
            .or_else(|_| Socket::new(domain, Type::STREAM, Some(Protocol::TCP)))?;
        if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            listener.set_only_v6(false)?;
        }
        if let Some(device) = device {
            options::bind_device(&listener, device)?;
        }
        listener.set_reuse_address(true)?;
        listener.bind(&SockAddr::from(address))?;
        listener.listen(1024)?;
        let bound = listener
            .local_addr()?
            .as_socket()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        // A socket of Multipath TCP does not tell the interface of a link-local address.
        let mut local = address;
        local.set_port(bound.port());
        match udp_on(local, device) {
            Ok(udp) => {
                return Ok(ListeningSockets {
                    tcp: listener.into(),
                    udp: udp.into(),
                    local,
                    without_v6: None,
                });
            }
            // With port 0 the kernel chose one that UDP has taken: another will do.
            Err(_) if address.port() == 0 && attempts < 16 => attempts += 1,
            Err(cause) => return Err(cause),
        }
    }
}

fn udp_on(local: SocketAddr, device: Option<&str>) -> io::Result<Socket> {
    let udp = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    if local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        udp.set_only_v6(false)?;
    }
    if let Some(device) = device {
        options::bind_device(&udp, device)?;
    }
    // Reuse is set after binding, so that binding fails where another server already listens.
    udp.bind(&SockAddr::from(local))?;
    options::set_reuse(&udp)?;
    udp::enable_packet_info(&udp)?;
    Ok(udp)
}

/// A server's UDP socket for one flow: from the address the client sent to, by the interface of the server where it has one, connected to the client, from which `received`
/// bytes have arrived.
///
/// # Errors
/// When the kernel does not grant it.
pub fn reply_udp_socket(
    local: SocketAddr,
    peer: SocketAddr,
    received: usize,
    device: Option<&str>,
) -> io::Result<UnvalidatedSocket> {
    let socket = Socket::new(Domain::for_address(peer), Type::DGRAM, Some(Protocol::UDP))?;
    if peer.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    if let Some(device) = device {
        options::bind_device(&socket, device)?;
    }
    options::set_reuse(&socket)?;
    socket.bind(&SockAddr::from(local))?;
    socket.connect(&SockAddr::from(peer))?;
    Ok(UnvalidatedSocket::new(socket.into(), received))
}
