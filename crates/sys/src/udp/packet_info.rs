//! The local address to which a datagram was sent: `IP_PKTINFO`, ip(7).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use crate::raw::{self, packet_destination};

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
) -> io::Result<(usize, SocketAddr, Option<IpAddr>)> {
    let message = raw::receive_with_control(socket, buffer, 0)?;
    let source = message.source.ok_or(io::ErrorKind::InvalidData)?;
    let destination = |(level, kind, data): (_, _, &[u8])| packet_destination(level, kind, data);
    Ok((
        message.length,
        source,
        message.control().find_map(destination),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::set_receive_timeout;
    use std::net::UdpSocket;
    use std::time::Duration;

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
            assert_eq!(local, Some(reported.parse().unwrap()));
        }
        Ok(())
    }
}
