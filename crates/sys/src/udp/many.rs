//! Sending many datagrams in one call, each handed over by itself: sendmmsg(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::raw::{self, number};

/// Maximum number of datagrams in one call (`UIO_MAXIOV`).
pub const MAX_DATAGRAMS: usize = 1024;

/// A sender of several datagrams in each call, with the memory that the call needs.
#[derive(Debug)]
pub struct ManySender {
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers in `parts` and `headers` are written before each call and not read after it.
unsafe impl Send for ManySender {}

impl ManySender {
    /// A sender of at most `datagrams` in each call, and of no more than [`MAX_DATAGRAMS`].
    #[must_use]
    pub fn new(datagrams: usize) -> Self {
        let datagrams = datagrams.clamp(1, MAX_DATAGRAMS);
        Self {
            parts: Vec::with_capacity(datagrams),
            headers: Vec::with_capacity(datagrams),
        }
    }

    /// The maximum number of datagrams in one call.
    #[must_use]
    pub fn max_datagrams(&self) -> usize {
        self.parts.capacity().min(MAX_DATAGRAMS)
    }

    /// Sends `payload` on a connected socket as datagrams of `segment` bytes, the last one the rest: the number of datagrams
    /// that were sent, which may be fewer than there are.
    ///
    /// # Errors
    /// `InvalidInput` for a `segment` of 0; `EMSGSIZE` for one beyond the limit of the socket; `ECONNREFUSED` when the peer refused
    /// an earlier datagram; `WouldBlock` on a socket that does not block.
    pub fn send(&mut self, socket: impl AsFd, payload: &[u8], segment: u16) -> io::Result<usize> {
        if segment == 0 {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        self.parts.clear();
        self.headers.clear();
        let max = self.max_datagrams();
        for datagram in payload.chunks(usize::from(segment)).take(max) {
            self.parts.push(libc::iovec {
                iov_base: datagram.as_ptr().cast_mut().cast(),
                iov_len: datagram.len(),
            });
        }
        for part in &mut self.parts {
            let mut header = raw::empty_message();
            header.msg_iov = part;
            header.msg_iovlen = 1;
            self.headers.push(libc::mmsghdr {
                msg_hdr: header,
                msg_len: 0,
            });
        }
        let fd = socket.as_fd().as_raw_fd();
        let count = self.headers.len() as libc::c_uint;
        let headers = self.headers.as_mut_ptr();
        // SAFETY: there are `count` headers, each with one part that lies in `payload`, which the kernel only reads.
        let sent = unsafe { libc::sendmmsg(fd, headers, count, libc::MSG_NOSIGNAL as _) };
        Ok(number(sent)? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::testing::{numbered, pair};
    use crate::udp::{GroReceiver, Wait};

    #[test]
    fn each_datagram_arrives_by_itself_and_the_last_is_the_rest() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        let payload = numbered(10, 100);
        let mut many = ManySender::new(64);
        assert_eq!(many.send(&sender, &payload[..950], 100)?, 10);
        let mut batches = GroReceiver::new(16)?;
        assert_eq!(batches.receive(&receiver, Wait::ForOne)?, 10);
        let sizes: Vec<_> = batches
            .messages()
            .map(|message| message.data.len())
            .collect();
        assert_eq!((sizes[0], sizes[8], sizes[9]), (100, 100, 50));
        assert!(
            batches
                .messages()
                .zip(0..)
                .all(|(message, number)| message.data[0] == number)
        );
        Ok(())
    }

    #[test]
    fn no_more_are_sent_than_it_has_room_for() -> io::Result<()> {
        let (sender, _receiver) = pair()?;
        assert_eq!(ManySender::new(4).send(&sender, &numbered(10, 10), 10)?, 4);
        let refusal = ManySender::new(4).send(&sender, &[1], 0).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::InvalidInput);
        Ok(())
    }
}
