//! Sending many datagrams in one call: `UDP_SEGMENT`, generic segmentation offload.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use socket2::SockRef;

use crate::raw;

/// Maximum payload of one send over IPv4: 65 535 less the headers of IP and UDP.
const MAX_PAYLOAD: usize = 65_507;

/// A sender of runs of equal datagrams, each run in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GsoSender {
    max_segments: u16,
}

impl GsoSender {
    /// A sender with the limit [`max_segments`] of `socket`.
    pub fn new(socket: impl AsFd) -> Self {
        Self {
            max_segments: max_segments(socket),
        }
    }

    /// A sender of one datagram in each call.
    #[must_use]
    pub const fn single() -> Self {
        Self { max_segments: 1 }
    }

    /// The maximum number of datagrams in one call; 1 where the kernel has no segmentation.
    pub fn max_segments(self) -> u16 {
        self.max_segments
    }

    /// The maximum number of datagrams of `segment` bytes in one call; at least one.
    pub fn max_datagrams(self, segment: usize) -> usize {
        (MAX_PAYLOAD / segment.max(1))
            .min(usize::from(self.max_segments))
            .max(1)
    }

    /// Sends as [`send_segments`] does.
    ///
    /// # Errors
    /// Those of [`send_segments`].
    pub fn send_segments(
        self,
        socket: impl AsFd,
        payload: &[u8],
        segment: u16,
    ) -> io::Result<usize> {
        send_segments(socket, payload, segment)
    }
}

/// The maximum number of datagrams in one send: 128, 64 before Linux 6.9, 1 before 4.18.
///
/// Found by a send over loopback on a socket of its own; where there is no loopback, 64.
/// Source: `UDP_MAX_SEGMENTS`, include/linux/udp.h.
pub fn max_segments(socket: impl AsFd) -> u16 {
    if raw::get_int(socket, libc::SOL_UDP, libc::UDP_SEGMENT).is_err() {
        return 1;
    }
    let sends_128 = || {
        let own = UdpSocket::bind("127.0.0.1:0")?;
        own.connect(own.local_addr()?)?;
        send_segments(&own, &[0; 128], 1)
    };
    if sends_128().is_ok() { 128 } else { 64 }
}

/// Sends `payload` on a connected socket as datagrams of `segment` bytes, the last one the rest.
///
/// One call; a payload of no more than one segment is a plain send. Returns the bytes sent, which
/// is all of them.
///
/// # Errors
/// `InvalidInput` for a `segment` of 0; `EINVAL` for more segments than [`max_segments`] or a
/// segment beyond the MTU; `EMSGSIZE` for more than 65 507 bytes; `ECONNREFUSED` when the peer
/// refused an earlier datagram; `EIO` where a device cannot compute checksums.
pub fn send_segments(socket: impl AsFd, payload: &[u8], segment: u16) -> io::Result<usize> {
    if segment == 0 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    if payload.len() > usize::from(segment) {
        let size = segment.to_ne_bytes();
        return raw::send_with_control(socket, payload, libc::SOL_UDP, libc::UDP_SEGMENT, &size);
    }
    SockRef::from(&socket).send_with_flags(payload, libc::MSG_NOSIGNAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::enable_gro;
    use crate::udp::testing::pair;

    #[test]
    fn the_maximum_number_of_segments_is_sent_and_one_more_is_refused() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        let gso = GsoSender::new(&sender);
        if gso.max_segments() == 1 || !enable_gro(&receiver) {
            return Ok(());
        }
        let max = usize::from(gso.max_segments());
        assert_eq!(send_segments(&sender, &vec![0; max * 10], 10)?, max * 10);
        let refusal = send_segments(&sender, &vec![0; (max + 1) * 10], 10).unwrap_err();
        assert_eq!(refusal.raw_os_error(), Some(libc::EINVAL));
        Ok(())
    }

    #[test]
    fn the_maximum_payload_is_whole_datagrams_within_both_limits() {
        let table = [
            (128, 100, 128),
            (128, 1400, 46),
            (64, 100, 64),
            (1, 1400, 1),
            (64, 65_507, 1),
        ];
        for (max_segments, segment, datagrams) in table {
            let sender = GsoSender { max_segments };
            assert_eq!(sender.max_datagrams(segment), datagrams);
        }
    }

    #[test]
    fn an_empty_segment_is_refused() -> io::Result<()> {
        let (sender, _receiver) = pair()?;
        let refusal = send_segments(&sender, &[1], 0).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::InvalidInput);
        Ok(())
    }
}
