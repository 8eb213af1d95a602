//! A listening socket that goes on accepting when the process has no descriptor left.

use socket2::SockRef;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The outcome of accepting.
#[derive(Debug)]
pub(crate) enum Accepted {
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
pub(crate) struct ReservedListener {
    listener: TcpListener,
    reserve: Option<OwnedFd>,
}

impl ReservedListener {
    pub(crate) fn new(listener: TcpListener) -> Self {
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

    /// Accepts a connection.
    ///
    /// # Errors
    /// Those of a connection that ended meanwhile, and those of a process or a machine with neither descriptors nor memory:
    /// the caller waits before it tries again.
    pub(crate) fn accept(&mut self) -> io::Result<Accepted> {
        let accepted = match self.listener.accept() {
            Ok((stream, peer)) => Ok(Accepted::Stream(stream, peer)),
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => Ok(Accepted::Nothing),
            Err(cause) if is_out_of_descriptors(&cause) && self.reserve.take().is_some() => {
                self.listener.accept().map(|(stream, peer)| {
                    // Refused, and not left to find out by a timeout.
                    let _ = SockRef::from(&stream).set_linger(Some(std::time::Duration::ZERO));
                    Accepted::Closed(peer)
                })
            }
            Err(cause) => Err(cause),
        };
        self.restore();
        accepted
    }
}

impl AsFd for ReservedListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

fn is_out_of_descriptors(cause: &io::Error) -> bool {
    matches!(cause.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
