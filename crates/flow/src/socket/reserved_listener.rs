//! A listening socket that goes on accepting when the process has no descriptor left.

use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// First bytes of a connection that are examined.
const FIRST_BYTES: usize = 64;
/// Maximum wait for them where no descriptor is left to wait for them beside the others.
const FIRST_BYTES_TIMEOUT: Duration = Duration::from_millis(20);

/// The outcome of accepting.
#[derive(Debug)]
pub enum Accepted {
    /// A connection.
    Stream(TcpStream, SocketAddr),
    /// A connection for which there was no descriptor: it was closed.
    Closed(SocketAddr),
    /// No connection is waiting.
    Nothing,
}

/// A listening socket with a descriptor in reserve.
///
/// Without a descriptor accept(2) fails and leaves the connection in the queue, so that poll(2) returns at once, again and again.
/// With the one in reserve the connection is accepted and closed.
#[derive(Debug)]
pub struct ReservedListener {
    listener: TcpListener,
    reserve: Option<OwnedFd>,
}

impl ReservedListener {
    /// A listener of a listening socket, which does not block from now on.
    pub fn new(listener: TcpListener) -> Self {
        let _ = listener.set_nonblocking(true);
        let mut listener = Self {
            listener,
            reserve: None,
        };
        listener.restore();
        listener
    }

    /// Takes a descriptor into reserve, where one is left.
    fn restore(&mut self) {
        if self.reserve.is_none() {
            self.reserve = self.listener.as_fd().try_clone_to_owned().ok();
        }
    }

    /// Accepts a connection. One for which there is no descriptor is answered with what `refusal` makes of its first bytes.
    ///
    /// # Errors
    /// Those of a connection that ended meanwhile, and those of a process or a machine with neither descriptors nor memory:
    /// the caller waits before it tries again.
    pub fn accept_or_refuse(&mut self, refusal: impl Fn(&[u8]) -> Vec<u8>) -> io::Result<Accepted> {
        let accepted = match self.listener.accept() {
            Ok((stream, peer)) => Ok(Accepted::Stream(stream, peer)),
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => Ok(Accepted::Nothing),
            Err(cause) if is_out_of_descriptors(&cause) && self.reserve.take().is_some() => {
                self.listener.accept().map(|(stream, peer)| {
                    // Refused, and not left to find out by a timeout.
                    if answer(&stream, refusal).is_err() {
                        let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
                    }
                    Accepted::Closed(peer)
                })
            }
            Err(cause) => Err(cause),
        };
        self.restore();
        accepted
    }
}

impl ReservedListener {
    /// Accepts a connection. One for which there is no descriptor is reset.
    ///
    /// # Errors
    /// Those of [`Self::accept_or_refuse`].
    pub fn accept(&mut self) -> io::Result<Accepted> {
        self.accept_or_refuse(|_| Vec::new())
    }
}

/// Answers the first bytes of a connection that is to be closed.
///
/// # Errors
/// When there is no answer to them.
fn answer(mut stream: &TcpStream, refusal: impl Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(FIRST_BYTES_TIMEOUT))?;
    let mut first = [0; FIRST_BYTES];
    let count = stream.read(&mut first)?;
    let answer = refusal(&first[..count]);
    if answer.is_empty() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.write_all(&answer)?;
    stream.shutdown(Shutdown::Write)
}

impl AsFd for ReservedListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// `true` for the error of a process, or a machine, that has no descriptor left.
pub fn is_out_of_descriptors(cause: &io::Error) -> bool {
    matches!(cause.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
