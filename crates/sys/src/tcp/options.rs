//! The options of a TCP socket.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use socket2::SockRef;

use crate::raw;

/// Sets the congestion control by the name the kernel has for it.
///
/// # Errors
/// `NotFound` when the kernel has none of that name; `PermissionDenied` when unprivileged users may not set it.
pub fn set_congestion(socket: impl AsFd, name: &str) -> io::Result<()> {
    SockRef::from(&socket).set_tcp_congestion(name.as_bytes())
}

/// The name of the congestion control in use.
///
/// # Errors
/// Any error of getsockopt(2).
pub fn congestion(socket: impl AsFd) -> io::Result<String> {
    let name = SockRef::from(&socket).tcp_congestion()?;
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// The congestion controls the kernel has loaded; empty when it does not list them.
pub fn available_congestion_controls() -> Vec<String> {
    let listed = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    listed
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Limits the maximum segment size, before connecting or listening.
///
/// The size includes TCP options, so with timestamps the payload is 12 bytes less.
///
/// # Errors
/// `EINVAL` outside 88 to 32 767.
pub fn set_max_segment(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    raw::set_int(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes)
}

/// The maximum segment size, in bytes of payload; before connecting, the limit that was set or a default.
///
/// # Errors
/// Any error of getsockopt(2).
pub fn max_segment(socket: impl AsFd) -> io::Result<u32> {
    raw::get_int(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG).map(c_int::unsigned_abs)
}

/// Limits the kernel's pacing to this rate; all ones removes the limit.
///
/// TCP paces by itself; UDP needs the queueing discipline `fq` at the interface.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_pacing_rate(socket: impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    let rate = bytes_per_second.to_ne_bytes();
    raw::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate)
}

/// Sends acknowledgements at once (`on`) or delays them. The setting is not permanent: tcp(7), `TCP_QUICKACK`.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_quickack(socket: impl AsFd, on: bool) -> io::Result<()> {
    SockRef::from(&socket).set_tcp_quickack(on)
}

/// Sets the number of bytes that must be readable before the kernel wakes a reader (`SO_RCVLOWAT`); the end of the
/// stream wakes it in any case.
///
/// A kernel that sizes the receive buffer itself makes it at least twice as large.
/// Source: `tcp_set_rcvlowat`, net/ipv4/tcp.c.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_receive_low_water(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    raw::set_int(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Makes closing discard unsent data and reset the connection, without `TIME_WAIT`.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_zero_linger(socket: impl AsFd) -> io::Result<()> {
    SockRef::from(&socket).set_linger(Some(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::pair;
    use crate::tcp::{receive_some, tcp_info};
    use socket2::{Domain, Socket, Type};

    #[test]
    fn every_available_congestion_control_can_be_chosen() -> io::Result<()> {
        let names = available_congestion_controls();
        assert!(!names.is_empty());
        let (near, _far) = pair()?;
        for name in names {
            match set_congestion(&near, &name) {
                Ok(()) => assert_eq!(congestion(&near)?, name),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
            }
        }
        assert!(set_congestion(&near, "no-such-name").is_err());
        Ok(())
    }

    #[test]
    fn segments_and_pacing_can_be_limited() -> io::Result<()> {
        let (near, _far) = pair()?;
        set_pacing_rate(&near, 10_000_000_000)?;
        if let Some(limit) = tcp_info(&near)?.max_pacing_rate {
            assert_eq!(limit, 10_000_000_000);
        }
        set_quickack(&near, true)?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        set_max_segment(&socket, 1000)?;
        assert!(max_segment(&socket)? <= 1000);
        assert!(set_max_segment(&socket, 10).is_err());
        Ok(())
    }

    #[test]
    fn closing_without_linger_resets() -> io::Result<()> {
        let (near, far) = pair()?;
        set_zero_linger(&near)?;
        drop(near);
        let refusal = receive_some(&far, &mut [0]).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::ConnectionReset);
        Ok(())
    }
}
