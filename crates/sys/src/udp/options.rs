//! The options of a UDP socket.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::SockRef;

use crate::raw;

/// Enables receive timestamps: with each message the kernel reports its arrival on the wall clock (`SO_TIMESTAMPNS`).
///
/// # Errors
/// Any error of setsockopt(2).
pub fn enable_receive_timestamps(socket: impl AsFd) -> io::Result<()> {
    raw::set_int(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Enables the drop counter: with each message the kernel reports the number of packets the socket dropped before it
/// (`SO_RXQ_OVFL`).
///
/// # Errors
/// Any error of setsockopt(2).
pub fn enable_drop_counter(socket: impl AsFd) -> io::Result<()> {
    raw::set_int(socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)
}

/// Has the kernel report the type-of-service byte of each message: the code point and the ECN bits (`IP_RECVTOS`, `IPV6_RECVTCLASS`).
///
/// # Errors
/// Any error of setsockopt(2).
pub fn enable_receive_tos(socket: impl AsFd) -> io::Result<()> {
    let v4 = raw::set_int(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1);
    if !raw::is_v6(&socket) {
        return v4;
    }
    // A socket restricted to IPv6 does not need the other option and may refuse it.
    raw::set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)
}

/// Has the kernel report the TTL, or hop limit, of each message (`IP_RECVTTL`, `IPV6_RECVHOPLIMIT`).
///
/// # Errors
/// Any error of setsockopt(2).
pub fn enable_receive_ttl(socket: impl AsFd) -> io::Result<()> {
    let v4 = raw::set_int(&socket, libc::IPPROTO_IP, libc::IP_RECVTTL, 1);
    if !raw::is_v6(&socket) {
        return v4;
    }
    raw::set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1)
}

/// Sets the TTL, or hop limit, of what a socket sends.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_ttl(socket: impl AsFd, ttl: u8) -> io::Result<()> {
    let v4 = raw::set_int(&socket, libc::IPPROTO_IP, libc::IP_TTL, ttl.into());
    if !raw::is_v6(&socket) {
        return v4;
    }
    raw::set_int(
        socket,
        libc::IPPROTO_IPV6,
        libc::IPV6_UNICAST_HOPS,
        ttl.into(),
    )
}

/// Limits the time a receive may wait, after which it fails with `WouldBlock`; `None` removes the limit.
///
/// # Errors
/// `InvalidInput` for a timeout of zero.
pub fn set_receive_timeout(socket: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
    if timeout == Some(Duration::ZERO) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    SockRef::from(&socket).set_read_timeout(timeout)
}

/// Forbids (`on`) or allows IP fragmentation, on this machine and by routers.
///
/// When forbidden, a send beyond the known path MTU fails with `EMSGSIZE`. On an IPv6 socket the setting covers the
/// IPv4 it may use as well. Source: ip(7), `IP_MTU_DISCOVER`.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_dont_fragment(socket: impl AsFd, on: bool) -> io::Result<()> {
    let discovery = if on {
        libc::IP_PMTUDISC_DO
    } else {
        libc::IP_PMTUDISC_DONT
    };
    let v4 = raw::set_int(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, discovery);
    if !raw::is_v6(&socket) {
        return v4;
    }
    // The values mean the same in both families; a socket restricted to IPv6 may refuse the first.
    raw::set_int(
        socket,
        libc::IPPROTO_IPV6,
        libc::IPV6_MTU_DISCOVER,
        discovery,
    )
}

/// Sends with DF up to the MTU of the device, whatever the kernel knows of the path (`IP_PMTUDISC_PROBE`): for packets that find the
/// path MTU out. The kernel goes on learning from what routers report.
///
/// On an IPv6 socket the setting covers the IPv4 it may use as well. Source: ip(7), `IP_MTU_DISCOVER`.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_mtu_probing(socket: impl AsFd) -> io::Result<()> {
    let probe = libc::IP_PMTUDISC_PROBE;
    let v4 = raw::set_int(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, probe);
    if !raw::is_v6(&socket) {
        return v4;
    }
    // The values mean the same in both families; a socket restricted to IPv6 may refuse the first.
    raw::set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, probe)
}

/// The path MTU the kernel assumes for a connected socket, in bytes with the IP header.
pub fn path_mtu(socket: impl AsFd) -> Option<u32> {
    let (level, name) = match raw::is_v6(&socket) {
        true => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
        false => (libc::IPPROTO_IP, libc::IP_MTU),
    };
    u32::try_from(raw::get_int(socket, level, name).ok()?).ok()
}

/// Takes the socket's pending error, such as that of a port that refused a datagram.
pub fn pending_error(socket: impl AsFd) -> Option<io::Error> {
    match SockRef::from(&socket).take_error() {
        Ok(pending) => pending,
        Err(error) => Some(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::testing::pair;
    use std::net::UdpSocket;

    #[test]
    fn a_connected_socket_knows_its_path_mtu() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        assert!(path_mtu(&sender).is_some_and(|mtu| mtu >= 1280));
        assert_eq!(path_mtu(&receiver), None);
        set_dont_fragment(&sender, true)?;
        set_mtu_probing(&sender)?;
        set_mtu_probing(UdpSocket::bind("[::]:0")?)?;
        set_dont_fragment(UdpSocket::bind("[::]:0")?, false)
    }

    #[test]
    fn a_refused_datagram_shows_as_a_pending_error() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        assert!(pending_error(&sender).is_none());
        drop(receiver);
        sender.send(&[1])?;
        let error = pending_error(&sender).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert!(pending_error(&sender).is_none());
        Ok(())
    }
}
