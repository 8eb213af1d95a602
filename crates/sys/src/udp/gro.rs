//! Receiving many datagrams in one call: recvmmsg(2) and `UDP_GRO`, generic receive offload.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use super::packet_info::PacketDestination;
use crate::raw::{self, ControlBuffer, Pages, SockaddrBuffer, number, packet_destination};

/// Size of the largest message that one receive returns; a smaller buffer would truncate it.
const SLOT: usize = 65_536;

/// Enables the coalescing of received datagrams of equal size (`UDP_GRO`); `false` where the kernel has none (before 5.0).
pub fn enable_gro(socket: impl AsFd) -> bool {
    raw::set_int(socket, libc::SOL_UDP, libc::UDP_GRO, 1).is_ok()
}

/// The time a receive may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until one message has arrived, or the socket's receive timeout has passed.
    ForOne,
    /// Not at all.
    Never,
}

/// A receiver of several messages per call into its own memory.
#[derive(Debug)]
pub struct GroReceiver {
    pages: Pages,
    addresses: Vec<SockaddrBuffer>,
    controls: Vec<ControlBuffer>,
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    received: usize,
}

// SAFETY: the pointers in `parts` and `headers` lead to memory that the same value owns.
unsafe impl Send for GroReceiver {}

impl GroReceiver {
    /// A receiver with room for `slots` messages of up to 65 536 bytes; room that is never used takes no memory.
    ///
    /// # Errors
    /// `ENOMEM` without address space.
    ///
    /// # Panics
    /// When `slots` is 0.
    pub fn new(slots: usize) -> io::Result<Self> {
        assert!(slots > 0, "a receiver needs room for one message");
        let mut pages = Pages::map(slots * SLOT)?;
        let mut addresses = vec![SockaddrBuffer::default(); slots];
        let mut controls = vec![ControlBuffer::empty(); slots];
        let part = |slot: &mut [u8]| libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: slot.len(),
        };
        let mut parts: Vec<_> = pages.bytes_mut().chunks_exact_mut(SLOT).map(part).collect();
        let header =
            |((part, address), control): ((&mut _, &mut SockaddrBuffer), &mut ControlBuffer)| {
                let mut header = raw::empty_message();
                header.msg_name = address.as_mut_ptr();
                header.msg_iov = part;
                header.msg_iovlen = 1;
                header.msg_control = control.as_mut_ptr();
                libc::mmsghdr {
                    msg_hdr: header,
                    msg_len: 0,
                }
            };
        let slots = parts.iter_mut().zip(&mut addresses).zip(&mut controls);
        let headers = slots.map(header).collect();
        Ok(Self {
            pages,
            addresses,
            controls,
            parts,
            headers,
            received: 0,
        })
    }

    /// The maximum number of messages of one [`GroReceiver::receive`].
    pub fn slots(&self) -> usize {
        self.parts.len()
    }

    /// Receives the messages that have arrived, in place of those received before, and returns their number.
    ///
    /// # Errors
    /// `WouldBlock` when nothing arrived in the time that `wait` and the socket's timeout allow;
    /// `Interrupted` by a signal; `ECONNREFUSED` when the peer refused an earlier datagram.
    pub fn receive(&mut self, socket: impl AsFd, wait: Wait) -> io::Result<usize> {
        let used = self.received;
        self.received = 0;
        // The kernel writes its own lengths into the headers it uses; unused ones need theirs only once.
        let stale = if used == 0 { self.headers.len() } else { used };
        for header in &mut self.headers[..stale] {
            header.msg_hdr.msg_namelen = SockaddrBuffer::LENGTH as libc::socklen_t;
            header.msg_hdr.msg_controllen = ControlBuffer::LENGTH as _;
        }
        let fd = socket.as_fd().as_raw_fd();
        let slots = self.headers.len() as libc::c_uint;
        let flags = match wait {
            Wait::ForOne => libc::MSG_WAITFORONE,
            Wait::Never => libc::MSG_DONTWAIT,
        };
        let headers = self.headers.as_mut_ptr();
        // SAFETY: there are `slots` headers, which point at memory that this value owns and borrows mutably.
        let received = unsafe { libc::recvmmsg(fd, headers, slots, flags as _, ptr::null_mut()) };
        self.received = number(received)? as usize;
        Ok(self.received)
    }

    /// The message at `index` of those received last.
    ///
    /// # Panics
    /// When `index` is not below the number received.
    pub fn message(&self, index: usize) -> ReceivedBatch<'_> {
        let header = &self.headers[..self.received][index];
        let length = (header.msg_len as usize).min(SLOT);
        let mut received = ReceivedBatch {
            data: &self.pages.bytes()[index * SLOT..][..length],
            segment: length,
            kernel_time_ns: None,
            socket_drops: None,
            tos: None,
            ttl: None,
            destination: None,
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            source: self.addresses[index].decode(header.msg_hdr.msg_namelen as usize),
        };
        // The type differs between C libraries.
        let filled = header.msg_hdr.msg_controllen as _;
        for (level, kind, data) in self.controls[index].messages(filled) {
            match (level, kind) {
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    let size = raw::u32_at(data, 0).map_or(0, |size| size as usize);
                    if size > 0 {
                        received.segment = size;
                    }
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    received.kernel_time_ns = raw::timespec_ns(data);
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    received.socket_drops = raw::u32_at(data, 0);
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => received.tos = data.first().copied(),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    received.tos = raw::u32_at(data, 0).map(|class| class as u8);
                }
                (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                    received.ttl = raw::u32_at(data, 0).and_then(|ttl| u8::try_from(ttl).ok());
                }
                _ => {
                    if let Some((address, interface)) = packet_destination(level, kind, data) {
                        received.destination = Some(PacketDestination { address, interface });
                    }
                }
            }
        }
        received
    }

    /// The messages received last, in the order they arrived.
    pub fn messages(&self) -> impl Iterator<Item = ReceivedBatch<'_>> {
        (0..self.received).map(|index| self.message(index))
    }
}

/// One message: a datagram, or several of one size from one source.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedBatch<'a> {
    /// The payloads, one after the other.
    pub data: &'a [u8],
    /// The size in bytes of each datagram but the last, which may be shorter.
    pub segment: usize,
    /// The time the kernel received it, on the wall clock, after [`enable_receive_timestamps`](super::enable_receive_timestamps).
    pub kernel_time_ns: Option<u64>,
    /// The packets this socket has dropped so far, after [`enable_drop_counter`](super::enable_drop_counter).
    ///
    /// `None` as long as there are none. Wraps at 2³². A coalesced packet counts once.
    pub socket_drops: Option<u32>,
    /// The type-of-service byte, after [`enable_receive_tos`](super::enable_receive_tos): the code point and the ECN bits. Datagrams that
    /// differ in it are not coalesced.
    pub tos: Option<u8>,
    /// The TTL, or hop limit, after [`enable_receive_ttl`](super::enable_receive_ttl).
    pub ttl: Option<u8>,
    /// The local address to which it was sent, after [`enable_packet_info`](super::enable_packet_info).
    pub destination: Option<PacketDestination>,
    /// `true` when the message was longer than the room for it.
    pub truncated: bool,
    /// The source address; an IPv4 source on an IPv6 socket is a mapped address.
    pub source: Option<SocketAddr>,
}

impl<'a> ReceivedBatch<'a> {
    /// The datagrams in it, in the order they arrived.
    pub fn datagrams(self) -> impl Iterator<Item = &'a [u8]> {
        self.data.chunks(self.segment.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::testing::{numbered, pair};
    use crate::udp::{
        GsoSender, enable_drop_counter, enable_receive_timestamps, enable_receive_tos,
        max_segments, meminfo, send_segments,
    };
    use std::net::UdpSocket;

    #[test]
    fn ecn_bits_arrive_with_the_message_and_leave_the_code_point_alone() -> io::Result<()> {
        for bind in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(receiver) = UdpSocket::bind(bind) else {
                continue;
            };
            let sender = UdpSocket::bind(bind)?;
            sender.connect(receiver.local_addr()?)?;
            crate::options::set_dscp(&sender, 46)?;
            enable_receive_tos(&receiver)?;
            let mut received = GroReceiver::new(1)?;
            for (on, tos) in [(true, 186), (false, 184)] {
                crate::options::set_ecn_capable(&sender, on)?;
                sender.send(&[1])?;
                received.receive(&receiver, Wait::ForOne)?;
                assert_eq!(received.message(0).tos, Some(tos), "{bind}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_run_of_datagrams_arrives_coalesced_with_its_size() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        let gso = GsoSender::new(&sender);
        if gso.max_segments() == 1 || !enable_gro(&receiver) {
            return Ok(());
        }
        let payload = numbered(40, 1000);
        assert_eq!(
            gso.send_segments(&sender, &payload[..39_500], 1000)?,
            39_500
        );
        let mut batches = GroReceiver::new(4)?;
        assert_eq!(batches.receive(&receiver, Wait::ForOne)?, 1);
        let message = batches.message(0);
        assert_eq!(
            (message.data.len(), message.segment, message.truncated),
            (39_500, 1000, false)
        );
        assert_eq!(message.source, Some(sender.local_addr()?));
        let sizes: Vec<_> = message.datagrams().map(<[u8]>::len).collect();
        assert_eq!((sizes.len(), sizes[38], sizes[39]), (40, 1000, 500));
        assert!(
            message
                .datagrams()
                .zip(0..)
                .all(|(datagram, number)| datagram[0] == number)
        );
        Ok(())
    }

    #[test]
    fn without_gro_the_same_run_arrives_as_single_datagrams() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        if max_segments(&sender) == 1 {
            return Ok(());
        }
        send_segments(&sender, &numbered(10, 100), 100)?;
        let mut batches = GroReceiver::new(4)?;
        for (expected, first) in [(4, 0), (4, 4), (2, 8)] {
            assert_eq!(batches.receive(&receiver, Wait::ForOne)?, expected);
            let numbers: Vec<_> = batches.messages().map(|message| message.data[0]).collect();
            assert_eq!(numbers, (first..first + expected as u8).collect::<Vec<_>>());
            assert!(batches.messages().all(|message| message.segment == 100));
        }
        Ok(())
    }

    #[test]
    fn a_receive_that_may_not_wait_would_block() -> io::Result<()> {
        let (_sender, receiver) = pair()?;
        let mut batches = GroReceiver::new(2)?;
        let refusal = batches.receive(&receiver, Wait::Never).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(batches.messages().count(), 0);
        Ok(())
    }

    #[test]
    fn a_message_carries_the_time_of_its_arrival() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        enable_receive_timestamps(&receiver)?;
        let before = crate::clock::realtime_ns();
        sender.send(&[1])?;
        let mut batches = GroReceiver::new(1)?;
        batches.receive(&receiver, Wait::ForOne)?;
        let stamp = batches.message(0).kernel_time_ns.unwrap();
        assert!((before..=crate::clock::realtime_ns()).contains(&stamp));
        Ok(())
    }

    #[test]
    fn the_drops_of_a_full_socket_are_counted() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        enable_drop_counter(&receiver)?;
        crate::buffers::set_receive_buffer(&receiver, 4096, false)?;
        for _ in 0..100 {
            sender.send(&[0; 1000])?;
        }
        let dropped = meminfo(&receiver).unwrap().drops;
        assert!((1..100).contains(&dropped));
        let mut batches = GroReceiver::new(128)?;
        assert_eq!(
            batches.receive(&receiver, Wait::ForOne)?,
            100 - dropped as usize
        );
        sender.send(&[0])?;
        batches.receive(&receiver, Wait::ForOne)?;
        assert_eq!(batches.message(0).socket_drops, Some(dropped));
        Ok(())
    }
}
