//! Socket options.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::result::number;

/// Sets a socket option to the bytes of `value`.
pub(crate) fn set_option(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
    value: &[u8],
) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = value.len() as libc::socklen_t;
    // SAFETY: `value` is readable for `length` bytes and the descriptor is borrowed for the call.
    number(unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), length) }).map(drop)
}

/// Sets a socket option that is an `int`.
pub(crate) fn set_int(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
    value: c_int,
) -> io::Result<()> {
    set_option(socket, level, name, &value.to_ne_bytes())
}

/// Reads a socket option into `value` and returns the number of bytes the kernel filled.
pub(crate) fn get_option(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
    value: &mut [u8],
) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    let mut length = value.len() as libc::socklen_t;
    let room = value.as_mut_ptr().cast();
    // SAFETY: `room` is writable for `length` bytes and the descriptor is borrowed for the call.
    number(unsafe { libc::getsockopt(fd, level, name, room, &mut length) })?;
    Ok(value.len().min(length as usize))
}

/// Reads a socket option that is an `int`.
pub(crate) fn get_int(socket: impl AsFd, level: c_int, name: c_int) -> io::Result<c_int> {
    let mut value = [0; size_of::<c_int>()];
    get_option(socket, level, name, &mut value)?;
    Ok(c_int::from_ne_bytes(value))
}

/// `true` for a socket of the family IPv6, which may use IPv4 as well.
pub(crate) fn is_v6(socket: impl AsFd) -> bool {
    get_int(socket, libc::SOL_SOCKET, libc::SO_DOMAIN).is_ok_and(|domain| domain == libc::AF_INET6)
}
