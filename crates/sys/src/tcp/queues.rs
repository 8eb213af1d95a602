//! The bytes waiting in the queues of a connection: tcp(7), "Ioctls".

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::raw::number;

/// Bytes not sent yet. Source: include/uapi/linux/sockios.h.
const SIOCOUTQNSD: c_int = 0x894b;

/// Bytes written and not sent yet.
///
/// # Errors
/// `EINVAL` on a listener.
pub fn unsent_bytes(socket: impl AsFd) -> io::Result<u32> {
    queue(socket, SIOCOUTQNSD)
}

/// Bytes written and not acknowledged yet, sent or not.
///
/// # Errors
/// `EINVAL` on a listener.
pub fn out_queue(socket: impl AsFd) -> io::Result<u32> {
    queue(socket, libc::TIOCOUTQ as c_int)
}

/// Bytes received and not read yet.
///
/// # Errors
/// `EINVAL` on a listener.
pub fn in_queue(socket: impl AsFd) -> io::Result<u32> {
    queue(socket, libc::FIONREAD as c_int)
}

fn queue(socket: impl AsFd, request: c_int) -> io::Result<u32> {
    let mut bytes: c_int = 0;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: each of these requests writes one `int`, and `bytes` is a live one.
    number(unsafe { libc::ioctl(fd, request as _, &mut bytes) })?;
    Ok(bytes.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::pair;
    use crate::tcp::{discard_some, send_some};

    #[test]
    fn bytes_wait_in_the_senders_queue_and_then_in_the_receivers() -> io::Result<()> {
        let (near, far) = pair()?;
        send_some(&near, &[0; 1000])?;
        far.peek(&mut [0])?;
        assert_eq!((unsent_bytes(&near)?, in_queue(&far)?), (0, 1000));
        assert!(out_queue(&near)? <= 1000);
        assert_eq!(discard_some(&far, 400)?, 400);
        assert_eq!(in_queue(&far)?, 600);
        Ok(())
    }
}
