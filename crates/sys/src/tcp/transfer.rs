//! Sending and receiving the bytes of a connection.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use rustix::fs::sendfile;
use socket2::SockRef;

use crate::raw::count;

/// Sends a prefix of `payload` and returns its length. A closed connection raises no signal.
///
/// # Errors
/// `WouldBlock` when nothing fits and the socket does not wait or its timeout has passed; `Interrupted` by a signal;
/// `BrokenPipe` and `ConnectionReset` when the peer is gone.
pub fn send_some(socket: impl AsFd, payload: &[u8]) -> io::Result<usize> {
    SockRef::from(&socket).send_with_flags(payload, libc::MSG_NOSIGNAL)
}

/// Receives into a prefix of `buffer` and returns its length; 0 is the end of the stream.
///
/// # Errors
/// `WouldBlock` when nothing has arrived and the socket does not wait or its timeout has passed; `Interrupted` by a
/// signal; `ConnectionReset` when the peer reset the connection.
pub fn receive_some(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let socket = SockRef::from(&socket);
    (&*socket).read(buffer)
}

/// Discards up to `max` received bytes inside the kernel and returns their number; 0 is the end of the stream.
///
/// For TCP only. Source: tcp(7), `MSG_TRUNC`.
///
/// # Errors
/// Those of [`receive_some`].
pub fn discard_some(socket: impl AsFd, max: usize) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: TCP writes nothing with this flag; a protocol that did would fail at the null address.
    count(unsafe { libc::recv(fd, ptr::null_mut(), max, libc::MSG_TRUNC) })
}

/// Ends the stream in the sending direction, after all data that was sent.
///
/// # Errors
/// `NotConnected` when the connection is gone.
pub fn shutdown_write(socket: impl AsFd) -> io::Result<()> {
    SockRef::from(&socket).shutdown(Shutdown::Write)
}

/// Sends up to `max` bytes of `file` from `offset` without copying them through this process.
///
/// Advances `offset` by the number of bytes sent and returns that; 0 is the end of the file. A closed connection raises
/// `SIGPIPE`, which [`crate::signal::ignore_sigpipe`] turns off.
///
/// # Errors
/// Those of [`send_some`], and those of reading the file.
pub fn send_file_some(
    out: impl AsFd,
    file: impl AsFd,
    offset: &mut u64,
    max: usize,
) -> io::Result<usize> {
    Ok(sendfile(out, file, Some(offset), max)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::testing::{discard_all, pair};
    use std::fs;
    use std::io::Write;
    use std::thread;

    #[test]
    fn discarding_counts_to_the_end_of_the_stream() -> io::Result<()> {
        let (near, far) = pair()?;
        let reader = thread::spawn(move || discard_all(&far));
        (&near).write_all(&[1; 3_000_001])?;
        shutdown_write(&near)?;
        assert_eq!(reader.join().unwrap()?, 3_000_001);
        Ok(())
    }

    #[test]
    fn a_file_is_sent_from_its_offset() -> io::Result<()> {
        let (near, mut far) = pair()?;
        let file = fs::File::open("/proc/self/exe")?;
        let mut expected = [0; 3000];
        file.try_clone()?.read_exact(&mut expected)?;
        let mut offset = 0;
        while offset < 3000 {
            let sent = send_file_some(&near, &file, &mut offset, 1000)?;
            assert!((1..=1000).contains(&sent));
        }
        let mut received = [0; 3000];
        far.read_exact(&mut received)?;
        assert_eq!((offset, received), (3000, expected));
        let mut beyond = file.metadata()?.len();
        assert_eq!(send_file_some(&near, &file, &mut beyond, 1000)?, 0);
        Ok(())
    }
}
