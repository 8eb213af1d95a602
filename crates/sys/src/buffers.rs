//! The size of a socket's buffers in the kernel.
//!
//! The kernel doubles the size it is asked for, to account for its own bookkeeping, and reports the doubled
//! size; so does every function here. Setting a size disables automatic tuning.
//! Source: socket(7), `SO_RCVBUF` and `SO_SNDBUF`.

use std::ffi::c_int;
use std::io;
use std::os::fd::AsFd;

use crate::raw;

/// Asks for a receive buffer of `bytes` and returns the size granted, doubled as the kernel does.
///
/// With `force` the limit `net.core.rmem_max` is exceeded where permitted (`CAP_NET_ADMIN`); otherwise the kernel applies
/// it silently, so the size granted can be less than twice that asked for.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_receive_buffer(socket: impl AsFd, bytes: usize, force: bool) -> io::Result<u32> {
    set_size(&socket, bytes, force, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?;
    receive_buffer(socket)
}

/// Asks for a send buffer of `bytes` and returns the size granted, doubled as the kernel does.
///
/// With `force` the limit `net.core.wmem_max` is exceeded as in [`set_receive_buffer`].
///
/// # Errors
/// Any error of setsockopt(2).
pub fn set_send_buffer(socket: impl AsFd, bytes: usize, force: bool) -> io::Result<u32> {
    set_size(&socket, bytes, force, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?;
    send_buffer(socket)
}

/// The size of the receive buffer, with the kernel's overhead: twice the size asked for.
///
/// # Errors
/// Any error of getsockopt(2).
pub fn receive_buffer(socket: impl AsFd) -> io::Result<u32> {
    raw::get_int(socket, libc::SOL_SOCKET, libc::SO_RCVBUF).map(c_int::unsigned_abs)
}

/// The size of the send buffer, with the kernel's overhead: twice the size asked for.
///
/// # Errors
/// Any error of getsockopt(2).
pub fn send_buffer(socket: impl AsFd) -> io::Result<u32> {
    raw::get_int(socket, libc::SOL_SOCKET, libc::SO_SNDBUF).map(c_int::unsigned_abs)
}

fn set_size(
    socket: impl AsFd,
    bytes: usize,
    force: bool,
    forced: c_int,
    ordinary: c_int,
) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    if force && raw::set_int(&socket, libc::SOL_SOCKET, forced, bytes).is_ok() {
        return Ok(());
    }
    raw::set_int(socket, libc::SOL_SOCKET, ordinary, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_granted_buffer_is_twice_the_size_asked_for() -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        for force in [false, true] {
            assert_eq!(set_receive_buffer(&socket, 100_000, force)?, 200_000);
            assert_eq!(set_send_buffer(&socket, 90_000, force)?, 180_000);
        }
        assert_eq!(
            (receive_buffer(&socket)?, send_buffer(&socket)?),
            (200_000, 180_000)
        );
        Ok(())
    }

    #[test]
    fn a_size_beyond_the_limit_is_granted_in_part() -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let granted = set_receive_buffer(&socket, usize::MAX, false)?;
        assert!(granted > 0);
        assert_eq!(granted, receive_buffer(&socket)?);
        Ok(())
    }
}
