//! Socket options that say how packets are marked and where they may come from or go to.

use std::ffi::c_int;
use std::io;
use std::os::fd::AsFd;

use crate::raw;

/// Marks what the socket sends with a differentiated services code point, 0 to 63.
///
/// The two bits below it stay 0; on TCP the kernel sets them itself when it uses ECN. A socket that
/// is `v6` gets the mark for the IPv4 it may speak as well. Source: RFC 2474, section 3.
///
/// # Errors
/// `InvalidInput` for a code point above 63; otherwise what the kernel has against the socket.
pub fn set_dscp(socket: impl AsFd, v6: bool, dscp: u8) -> io::Result<()> {
    if dscp > 63 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    set_tos(socket, v6, dscp << 2)
}

/// Marks what the socket sends with a whole type-of-service byte: the code point and the ECN bits.
///
/// On TCP the kernel keeps the ECN bits for itself. Source: ip(7), `IP_TOS`.
///
/// # Errors
/// What the kernel has against the socket.
pub fn set_tos(socket: impl AsFd, v6: bool, tos: u8) -> io::Result<()> {
    let mark = c_int::from(tos);
    let v4 = raw::set_int(&socket, libc::IPPROTO_IP, libc::IP_TOS, mark);
    if !v6 {
        return v4;
    }
    // A socket restricted to IPv6 has no use for the other mark and may refuse it.
    raw::set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, mark)
}

/// Keeps the socket to the interface called `name`.
///
/// # Errors
/// `ENODEV` when there is none of that name; `PermissionDenied` on kernels before 5.7 without
/// `CAP_NET_RAW`.
pub fn bind_device(socket: impl AsFd, name: &str) -> io::Result<()> {
    raw::set_option(
        socket,
        libc::SOL_SOCKET,
        libc::SO_BINDTODEVICE,
        name.as_bytes(),
    )
}

/// Lets the socket take an address that an ended connection still lingers on (`SO_REUSEADDR`).
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn set_reuse(socket: impl AsFd) -> io::Result<()> {
    raw::set_int(socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)
}

/// Lets the socket bind to an address this machine does not have, or not yet.
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn set_freebind(socket: impl AsFd, v6: bool) -> io::Result<()> {
    match v6 {
        true => raw::set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_FREEBIND, 1),
        false => raw::set_int(socket, libc::IPPROTO_IP, libc::IP_FREEBIND, 1),
    }
}

/// Lets a blocking receive look at the device itself for so many microseconds before it sleeps.
///
/// # Errors
/// `PermissionDenied` for raising it without `CAP_NET_ADMIN`; `ENOPROTOOPT` on kernels built without it.
pub fn set_busy_poll(socket: impl AsFd, microseconds: u32) -> io::Result<()> {
    let microseconds = c_int::try_from(microseconds).unwrap_or(c_int::MAX);
    raw::set_int(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_dual_stack_socket_is_marked_in_both_families() -> io::Result<()> {
        let socket = UdpSocket::bind("[::]:0")?;
        set_dscp(&socket, true, 46)?;
        assert_eq!(
            raw::int(&socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS)?,
            184
        );
        assert_eq!(raw::int(&socket, libc::IPPROTO_IP, libc::IP_TOS)?, 184);
        Ok(())
    }

    #[test]
    fn a_code_point_that_does_not_fit_is_refused() -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        set_dscp(&socket, false, 63)?;
        let refusal = set_dscp(&socket, false, 64).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::InvalidInput);
        Ok(())
    }

    #[test]
    fn a_device_that_does_not_exist_is_refused() -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        assert!(bind_device(&socket, "no-such-device").is_err());
        Ok(())
    }

    #[test]
    fn freebind_allows_an_address_that_is_not_here() -> io::Result<()> {
        let domain = socket2::Domain::IPV4;
        let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, None)?;
        set_reuse(&socket)?;
        set_freebind(&socket, false)?;
        let elsewhere: std::net::SocketAddr = "192.0.2.1:0".parse().unwrap();
        socket.bind(&elsewhere.into())
    }

    #[test]
    fn busy_polling_is_granted_or_refused_but_never_fatal() -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        if set_busy_poll(&socket, 50).is_ok() {
            assert_eq!(raw::int(&socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL)?, 50);
        }
        Ok(())
    }
}
