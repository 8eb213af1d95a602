//! The local address to which a datagram was sent: `IP_PKTINFO`, ip(7).

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::AsFd;

use socket2::SockAddr;

use crate::raw::{self, packet_destination};

/// The local address to which a datagram was sent, and the interface by which it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketDestination {
    /// The address, in the socket's family: on an IPv6 socket an IPv4 address is a mapped one.
    pub address: IpAddr,
    /// The index of the interface.
    pub interface: u32,
}

impl PacketDestination {
    /// The socket address that answers from there: a link-local address is one of its interface.
    #[must_use]
    pub fn socket_address(self, port: u16) -> SocketAddr {
        match self.address.to_canonical() {
            IpAddr::V6(address) => {
                SocketAddrV6::new(address, port, 0, self.scope_id(address)).into()
            }
            address => SocketAddr::new(address, port),
        }
    }

    /// The interface, where the address belongs to one only.
    const fn scope_id(self, address: Ipv6Addr) -> u32 {
        if address.is_unicast_link_local() {
            self.interface
        } else {
            0
        }
    }
}

/// Enables the report of the local address to which each datagram was sent.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn enable_packet_info(socket: impl AsFd) -> io::Result<()> {
    if raw::is_v6(&socket) {
        raw::set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)
    } else {
        raw::set_int(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)
    }
}

/// Receives one datagram: its length, its source, and the local address to which it was sent.
///
/// The last is `None` without [`enable_packet_info`]. Both are in the socket's family: on an IPv6 socket an IPv4 address
/// is a mapped one.
///
/// # Errors
/// `WouldBlock` when the socket's timeout has passed; `Interrupted` by a signal.
pub fn receive_with_destination(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> io::Result<(usize, SocketAddr, Option<PacketDestination>)> {
    let message = raw::receive_with_control(socket, buffer, 0)?;
    let source = message.source.ok_or(io::ErrorKind::InvalidData)?;
    let destination = |(level, kind, data): (_, _, &[u8])| {
        let (address, interface) = packet_destination(level, kind, data)?;
        Some(PacketDestination { address, interface })
    };
    Ok((
        message.length,
        source,
        message.control().find_map(destination),
    ))
}

/// Receives one datagram: its length, and its type-of-service byte (IPv4) or traffic class (IPv6).
///
/// The latter is `None` without [`enable_receive_tos`](super::enable_receive_tos).
///
/// # Errors
/// As those of recv(2).
pub fn receive_with_tos(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Option<u8>)> {
    let message = raw::receive_with_control(socket, buffer, 0)?;
    let tos = message
        .control()
        .find_map(|(level, kind, data)| match (level, kind) {
            (libc::IPPROTO_IP, libc::IP_TOS) => data.first().copied(),
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                raw::u32_at(data, 0).map(|class| class as u8)
            }
            _ => None,
        });
    Ok((message.length, tos))
}

/// Sends one datagram to `peer`, both in the socket's family, from the address to which its own was sent.
///
/// # Errors
/// `EMSGSIZE` for one beyond the MTU on a socket that does not fragment; any error of sendmsg(2).
pub fn send_from(
    socket: impl AsFd,
    payload: &[u8],
    from: Option<PacketDestination>,
    peer: SocketAddr,
) -> io::Result<usize> {
    let peer = SockAddr::from(peer);
    match from.map(|from| (from, from.address)) {
        None => raw::send_with_controls(socket, payload, &[], Some(&peer)),
        Some((_, IpAddr::V4(address))) => {
            // `struct in_pktinfo`: the index, the source, the destination of one received.
            let mut info = [0; 12];
            info[4..8].copy_from_slice(&address.octets());
            let control = (libc::IPPROTO_IP, libc::IP_PKTINFO, info.as_slice());
            raw::send_with_controls(socket, payload, &[control], Some(&peer))
        }
        Some((from, IpAddr::V6(address))) => {
            // `struct in6_pktinfo`: the source, the index.
            let mut info = [0; 20];
            info[..16].copy_from_slice(&address.octets());
            info[16..].copy_from_slice(&from.scope_id(address).to_ne_bytes());
            let control = (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info.as_slice());
            raw::send_with_controls(socket, payload, &[control], Some(&peer))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::set_receive_timeout;
    use std::net::UdpSocket;
    use std::time::Duration;

    #[test]
    fn a_link_local_address_answers_by_its_interface() {
        let destination = |address: &str| PacketDestination {
            address: address.parse().unwrap(),
            interface: 7,
        };
        for (address, answers_from) in [
            ("fe80::1", "[fe80::1%7]:5201"),
            ("2001:db8::1", "[2001:db8::1]:5201"),
            ("::ffff:192.0.2.1", "192.0.2.1:5201"),
            ("192.0.2.1", "192.0.2.1:5201"),
        ] {
            let local = destination(address).socket_address(5201);
            assert_eq!(local.to_string(), answers_from);
        }
    }

    #[test]
    fn a_listener_learns_the_address_to_which_a_datagram_was_sent() -> io::Result<()> {
        let table = [
            ("0.0.0.0:0", "127.0.0.2", "127.0.0.2"),
            ("[::]:0", "127.0.0.2", "::ffff:127.0.0.2"),
            ("[::]:0", "::1", "::1"),
        ];
        for (bound, called, reported) in table {
            let listener = UdpSocket::bind(bound)?;
            set_receive_timeout(&listener, Some(Duration::from_secs(10)))?;
            enable_packet_info(&listener)?;
            let called: IpAddr = called.parse().unwrap();
            let caller = UdpSocket::bind(if called.is_ipv4() {
                "0.0.0.0:0"
            } else {
                "[::]:0"
            })?;
            caller.send_to(b"hello", (called, listener.local_addr()?.port()))?;
            let mut buffer = [0; 16];
            let (length, source, local) = receive_with_destination(&listener, &mut buffer)?;
            assert_eq!(&buffer[..length], b"hello");
            assert_eq!(source.port(), caller.local_addr()?.port());
            let local = local.unwrap();
            assert_eq!(local.address, reported.parse::<IpAddr>().unwrap());
            assert!(local.interface > 0);
            // The answer comes from there.
            send_from(&listener, b"answer", Some(local), source)?;
            let (length, answering) = caller.recv_from(&mut buffer)?;
            assert_eq!(&buffer[..length], b"answer");
            assert_eq!(answering.ip().to_canonical(), called);
        }
        Ok(())
    }
}
