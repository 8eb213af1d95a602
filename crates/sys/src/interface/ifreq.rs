//! The argument of ioctls on interfaces: netdevice(7).

use std::io;
use std::mem;

/// A `struct ifreq` for the interface called `name`, with nothing else in it.
///
/// # Errors
/// `InvalidInput` for a name that is too long.
pub(crate) fn ifreq(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: every part of the structure is made of numbers and pointers, for which all zero bits are a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The last byte stays zero, to end the name.
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = byte as _;
    }
    Ok(request)
}
