//! The local address to which a datagram was sent: `IP_PKTINFO`, ip(7).

use std::ffi::c_int;
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
    send_marked_from(socket, payload, from, peer, ReplyMarks::default())
}

/// What one datagram has beside its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyMarks {
    /// The TOS byte, or traffic class; `None` for that of the socket.
    pub tos: Option<u8>,
    /// `true` to have the kernel record its departure, for [`transmit_stamp`](crate::timestamps::transmit_stamp).
    pub is_stamped: bool,
}

/// The same as [`send_from`], with marks.
///
/// # Errors
/// Those of [`send_from`].
pub fn send_marked_from(
    socket: impl AsFd,
    payload: &[u8],
    from: Option<PacketDestination>,
    peer: SocketAddr,
    marks: ReplyMarks,
) -> io::Result<usize> {
    let is_v4 = peer.ip().to_canonical().is_ipv4();
    let peer = SockAddr::from(peer);
    let mut v4_info = [0; 12];
    let mut v6_info = [0; 20];
    let info: (_, _, &[u8]) = match from.map(|from| (from, from.address)) {
        None => (0, 0, &[]),
        Some((_, IpAddr::V4(address))) => {
            // `struct in_pktinfo`: the index, the source, the destination of one received.
            v4_info[4..8].copy_from_slice(&address.octets());
            (libc::IPPROTO_IP, libc::IP_PKTINFO, &v4_info)
        }
        Some((from, IpAddr::V6(address))) => {
            // `struct in6_pktinfo`: the source, the index.
            v6_info[..16].copy_from_slice(&address.octets());
            v6_info[16..].copy_from_slice(&from.scope_id(address).to_ne_bytes());
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &v6_info)
        }
    };
    let class = c_int::from(marks.tos.unwrap_or(0)).to_ne_bytes();
    let tos: (_, _, &[u8]) = match marks.tos {
        None => (0, 0, &[]),
        // One over IPv4 has a TOS byte on an IPv6 socket as well.
        Some(_) if is_v4 => (libc::IPPROTO_IP, libc::IP_TOS, &class),
        Some(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &class),
    };
    let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE.to_ne_bytes();
    let stamped: (_, _, &[u8]) = match marks.is_stamped {
        false => (0, 0, &[]),
        true => (libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags),
    };
    let mut controls = [info, tos, stamped];
    let mut count = 0;
    for nth in 0..controls.len() {
        if !controls[nth].2.is_empty() {
            controls.swap(count, nth);
            count += 1;
        }
    }
    raw::send_with_controls(socket, payload, &controls[..count], Some(&peer))
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
    fn a_reply_has_its_own_marks_and_its_departure_is_recorded() -> io::Result<()> {
        for (bound, called) in [
            ("0.0.0.0:0", "127.0.0.1"),
            ("[::]:0", "127.0.0.1"),
            ("[::]:0", "::1"),
        ] {
            let listener = UdpSocket::bind(bound)?;
            enable_packet_info(&listener)?;
            crate::udp::enable_receive_ttl(&listener)?;
            crate::timestamps::enable_departures(&listener)?;
            let called: IpAddr = called.parse().unwrap();
            let caller = UdpSocket::bind((called, 0))?;
            set_receive_timeout(&caller, Some(Duration::from_secs(10)))?;
            crate::udp::enable_receive_tos(&caller)?;
            crate::udp::set_ttl(&caller, 200)?;
            caller.send_to(b"hello", (called, listener.local_addr()?.port()))?;
            let mut received = crate::udp::GroReceiver::new(1)?;
            received.receive(&listener, crate::udp::Wait::ForOne)?;
            let message = received.message(0);
            assert_eq!(message.ttl, Some(200), "{bound}");
            let destination = message.destination.unwrap();
            assert_eq!(destination.address.to_canonical(), called);
            let marks = ReplyMarks {
                tos: Some(46 << 2),
                is_stamped: true,
            };
            let source = message.source.unwrap();
            send_marked_from(&listener, b"answer", Some(destination), source, marks)?;
            let mut buffer = [0; 16];
            let (length, tos) = receive_with_tos(&caller, &mut buffer)?;
            assert_eq!((&buffer[..length], tos), (b"answer".as_slice(), Some(184)));
            let stamp = (0..100_000).find_map(|_| crate::timestamps::transmit_stamp(&listener));
            assert!(stamp.is_some(), "{bound}");
        }
        Ok(())
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
