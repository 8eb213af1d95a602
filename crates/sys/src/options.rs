//! Socket options of the IP layer: marks, devices, addresses, busy polling.

use std::ffi::c_int;
use std::io;
use std::os::fd::AsFd;

use socket2::SockRef;

use crate::interface::Interface;
use crate::raw;

/// Maximum number of interfaces that an error names.
const MAX_NAMES: usize = 12;

/// Sets the differentiated services code point of the packets sent, 0 to 63.
///
/// The two bits below it stay 0; on TCP the kernel sets them itself when it uses ECN. On an IPv6 socket the mark covers
/// the IPv4 it may use as well. Source: RFC 2474 section 3.
///
/// # Errors
/// `InvalidInput` for a code point above 63; any error of setsockopt(2).
pub fn set_dscp(socket: impl AsFd, dscp: u8) -> io::Result<()> {
    if dscp > 63 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    set_tos(socket, dscp << 2)
}

/// Sets the type-of-service byte of the packets sent: the code point and the ECN bits.
///
/// On TCP the kernel reserves the ECN bits. On an IPv6 socket the mark covers the IPv4 it may use as well.
/// Source: ip(7), `IP_TOS`.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_tos(socket: impl AsFd, tos: u8) -> io::Result<()> {
    let v4 = SockRef::from(&socket).set_tos_v4(tos.into());
    if !raw::is_v6(&socket) {
        return v4;
    }
    // A socket restricted to IPv6 does not need the other mark and may refuse it.
    SockRef::from(&socket).set_tclass_v6(tos.into())
}

/// ECN bits of an ECN-capable transport, ECT(0): RFC 3168 section 5.
const ECT_0: u32 = 0b10;
/// Both ECN bits.
const ECN_BITS: u32 = 0b11;

/// Marks the packets sent as those of an ECN-capable transport, ECT(0), or as those of one that is not. The code point stays.
///
/// For UDP; on TCP the kernel reserves the ECN bits.
///
/// # Errors
/// Any error of getsockopt(2) and setsockopt(2).
pub fn set_ecn_capable(socket: impl AsFd, on: bool) -> io::Result<()> {
    let socket_ref = SockRef::from(&socket);
    let tos = match raw::is_v6(&socket) {
        true => socket_ref.tclass_v6()?,
        false => socket_ref.tos_v4()?,
    };
    let ecn = if on { ECT_0 } else { 0 };
    set_tos(&socket, ((tos & !ECN_BITS) | ecn) as u8)
}

/// `IPV6_FLOWLABEL_MGR`, include/uapi/linux/in6.h.
const FLOW_LABEL_MANAGER: c_int = 32;
/// `IPV6_FLOWINFO_SEND`, include/uapi/linux/in6.h.
const FLOW_INFO_SEND: c_int = 33;
/// `IPV6_FL_F_CREATE`, include/uapi/linux/in6.h.
const CREATE_LABEL: u16 = 1;
/// `IPV6_FL_S_ANY`, include/uapi/linux/in6.h: several sockets may have the same label.
const SHARED_LABEL: u8 = 255;

/// Lets an IPv6 socket send with a flow label (20 bits) to `destination`: it takes effect when the socket is connected to an
/// address that carries the label as well.
///
/// Source: `struct in6_flowlabel_req`, include/uapi/linux/in6.h, and `ipv6_flowlabel_opt`, net/ipv6/ip6_flowlabel.c.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_flow_label(
    socket: impl AsFd,
    destination: std::net::Ipv6Addr,
    label: u32,
) -> io::Result<()> {
    // Address, label, action (0: get), share, flags, expiry, linger, padding.
    let mut request = [0; 32];
    request[..16].copy_from_slice(&destination.octets());
    request[16..20].copy_from_slice(&label.to_be_bytes());
    request[21] = SHARED_LABEL;
    request[22..24].copy_from_slice(&CREATE_LABEL.to_ne_bytes());
    match raw::set_option(&socket, libc::IPPROTO_IPV6, FLOW_LABEL_MANAGER, &request) {
        // Labels of the upper half are used without a lease: net.ipv6.flowlabel_state_ranges.
        Err(cause) if cause.raw_os_error() != Some(libc::ERANGE) => return Err(cause),
        _ => {}
    }
    raw::set_int(socket, libc::IPPROTO_IPV6, FLOW_INFO_SEND, 1)
}

/// Restricts the socket to the interface called `name` (`SO_BINDTODEVICE`).
///
/// # Errors
/// `ENODEV` when there is none of that name; `PermissionDenied` on kernels before 5.7 without
/// `CAP_NET_RAW`.
pub fn bind_device(socket: impl AsFd, name: &str) -> io::Result<()> {
    let bound = SockRef::from(&socket).bind_device(Some(name.as_bytes()));
    bound.map_err(|cause| match cause.raw_os_error() {
        Some(libc::ENODEV) => no_such_device(&Interface::names()),
        _ => cause,
    })
}

/// The error for an interface that is not among these.
/// The interface that the socket is restricted to; `None` where it is to none.
///
/// # Errors
/// Those of `getsockopt`.
pub fn bound_device(socket: impl AsFd) -> io::Result<Option<Vec<u8>>> {
    SockRef::from(&socket).device()
}

fn no_such_device(names: &[String]) -> io::Error {
    let shown = names.iter().take(MAX_NAMES).map(String::as_str);
    let mut there_are = shown.collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMES {
        there_are += ", …";
    }
    let error = match names {
        [] => "there is no such interface".to_owned(),
        _ => format!("there is no such interface; there are {there_are}"),
    };
    io::Error::new(io::ErrorKind::NotFound, error)
}

/// Allows the socket to bind to an address in use by connections in `TIME_WAIT` (`SO_REUSEADDR`).
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_reuse(socket: impl AsFd) -> io::Result<()> {
    SockRef::from(&socket).set_reuse_address(true)
}

/// Allows the socket to bind to an address this machine does not have (`IP_FREEBIND`).
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_freebind(socket: impl AsFd) -> io::Result<()> {
    let reference = SockRef::from(&socket);
    if raw::is_v6(&socket) {
        reference.set_freebind_v6(true)
    } else {
        reference.set_freebind_v4(true)
    }
}

/// Sets the time, in microseconds, for which a blocking receive polls the device before it sleeps (`SO_BUSY_POLL`).
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
    use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

    #[test]
    fn a_dual_stack_socket_is_marked_in_both_families() -> io::Result<()> {
        let socket = UdpSocket::bind("[::]:0")?;
        set_dscp(&socket, 46)?;
        assert_eq!(
            raw::get_int(&socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS)?,
            184
        );
        assert_eq!(raw::get_int(&socket, libc::IPPROTO_IP, libc::IP_TOS)?, 184);
        Ok(())
    }

    #[test]
    fn a_flow_label_is_that_of_the_address_a_socket_is_connected_to() -> io::Result<()> {
        // Labels of the upper half need no lease.
        for label in [5_u32, 0xf_ffff] {
            // A machine without IPv6 has nothing to label.
            let Ok(socket) = UdpSocket::bind("[::1]:0") else {
                return Ok(());
            };
            set_flow_label(&socket, Ipv6Addr::LOCALHOST, label)?;
            let peer = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 9, label.to_be(), 0);
            socket.connect(SocketAddr::V6(peer))?;
            let SocketAddr::V6(connected) = socket.peer_addr()? else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            assert_eq!(connected.flowinfo(), label.to_be());
        }
        Ok(())
    }

    #[test]
    fn a_code_point_that_does_not_fit_is_refused() -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        set_dscp(&socket, 63)?;
        let refusal = set_dscp(&socket, 64).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::InvalidInput);
        Ok(())
    }

    #[test]
    fn a_device_that_does_not_exist_is_refused() -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let refusal = bind_device(&socket, "no-such0").unwrap_err();
        assert!(refusal.to_string().contains("lo"), "{refusal}");
        let many: Vec<String> = (0..20).map(|nth| format!("veth{nth}")).collect();
        let shown = no_such_device(&many).to_string();
        assert!(shown.ends_with("veth11, …"), "{shown}");
        Ok(())
    }

    #[test]
    fn freebind_allows_an_address_of_another_machine() -> io::Result<()> {
        let domain = socket2::Domain::IPV4;
        let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, None)?;
        set_reuse(&socket)?;
        set_freebind(&socket)?;
        let elsewhere: std::net::SocketAddr = "192.0.2.1:0".parse().unwrap();
        socket.bind(&elsewhere.into())
    }

    #[test]
    fn busy_polling_is_granted_or_refused_but_never_fatal() -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        if set_busy_poll(&socket, 50).is_ok() {
            assert_eq!(
                raw::get_int(&socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL)?,
                50
            );
        }
        Ok(())
    }
}
