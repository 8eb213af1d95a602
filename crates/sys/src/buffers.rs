//! How much a socket may hold back in the kernel.
//!
//! The kernel doubles what it is asked for, to pay for its own bookkeeping, and answers the doubled
//! figure; every figure answered here is that one. Asking for a size switches automatic growth off.
//! Source: socket(7), `SO_RCVBUF` and `SO_SNDBUF`.

use std::ffi::c_int;
use std::io;
use std::os::fd::AsFd;

use crate::raw;

/// Asks for a receive buffer of `bytes` and answers what was granted, doubled as the kernel does.
///
/// With `force` the limit `net.core.rmem_max` is passed over where permitted (`CAP_NET_ADMIN`), and
/// otherwise kept silently, so the answer can be less than twice the wish.
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn set_receive_buffer(socket: impl AsFd, bytes: usize, force: bool) -> io::Result<u32> {
    set(&socket, bytes, force, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?;
    receive_buffer(socket)
}

/// Asks for a send buffer of `bytes` and answers what was granted, doubled as the kernel does.
///
/// `force` is to `net.core.wmem_max` what it is to the limit in [`set_receive_buffer`].
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn set_send_buffer(socket: impl AsFd, bytes: usize, force: bool) -> io::Result<u32> {
    set(&socket, bytes, force, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?;
    send_buffer(socket)
}

/// The size of the receive buffer, with the kernel's own share: twice what was asked for.
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn receive_buffer(socket: impl AsFd) -> io::Result<u32> {
    raw::int(socket, libc::SOL_SOCKET, libc::SO_RCVBUF).map(c_int::unsigned_abs)
}

/// The size of the send buffer, with the kernel's own share: twice what was asked for.
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn send_buffer(socket: impl AsFd) -> io::Result<u32> {
    raw::int(socket, libc::SOL_SOCKET, libc::SO_SNDBUF).map(c_int::unsigned_abs)
}

fn set(
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
    fn a_granted_buffer_is_twice_the_wish() -> io::Result<()> {
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
    fn a_wish_beyond_the_limit_is_granted_in_part() -> io::Result<()> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        let granted = set_receive_buffer(&socket, usize::MAX, false)?;
        assert!(granted > 0);
        assert_eq!(granted, receive_buffer(&socket)?);
        Ok(())
    }
}
