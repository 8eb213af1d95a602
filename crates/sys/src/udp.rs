//! Datagrams, sent and received many at a time.
//!
//! One call may carry many datagrams of one size: the sender names the size (`UDP_SEGMENT`) and the
//! kernel cuts; the receiver asks for them uncut (`UDP_GRO`) and is told the size.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

use crate::raw::{self, Address, Control, Pages, count, number};

/// The largest payload of one send over IPv4: 65 535 less the headers of IP and UDP.
const LARGEST_PAYLOAD: usize = 65_507;
/// Room for whatever one receive may bring; a smaller buffer would cut it.
const SLOT: usize = 65_536;

/// Sends runs of equal datagrams, each run in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GsoSender {
    max_segments: u16,
}

impl GsoSender {
    /// A sender that knows what [`max_segments`] says for `socket`.
    pub fn new(socket: impl AsFd) -> Self {
        Self {
            max_segments: max_segments(socket),
        }
    }

    /// How many datagrams one call may carry; 1 where the kernel does not cut.
    pub fn max_segments(self) -> u16 {
        self.max_segments
    }

    /// How many datagrams of `segment` bytes one call may carry; at least one.
    pub fn max_datagrams(self, segment: usize) -> usize {
        (LARGEST_PAYLOAD / segment.max(1))
            .min(usize::from(self.max_segments))
            .max(1)
    }

    /// See [`send_segments`].
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

/// How many datagrams this kernel lets one send carry: 128, 64 before Linux 6.9, 1 before 4.18.
///
/// Found by sending to itself over loopback, away from `socket`; where there is no loopback, 64.
/// Source: `UDP_MAX_SEGMENTS`, include/linux/udp.h.
pub fn max_segments(socket: impl AsFd) -> u16 {
    if raw::int(socket, libc::SOL_UDP, libc::UDP_SEGMENT).is_err() {
        return 1;
    }
    let carries_128 = || {
        let own = UdpSocket::bind("127.0.0.1:0")?;
        own.connect(own.local_addr()?)?;
        send_segments(&own, &[0; 128], 1)
    };
    if carries_128().is_ok() { 128 } else { 64 }
}

/// Sends `payload` on a connected socket as datagrams of `segment` bytes, the last one the rest.
///
/// One call; a payload of no more than one segment is a plain send. Answers the bytes sent, which
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
    let fd = socket.as_fd().as_raw_fd();
    let (start, length) = (payload.as_ptr().cast(), payload.len());
    // SAFETY: `payload` is readable for `length` bytes and the descriptor is borrowed for the call.
    count(unsafe { libc::send(fd, start, length, libc::MSG_NOSIGNAL) })
}

/// Lets the socket receive equal datagrams uncut; `false` where the kernel cannot (before 5.0).
pub fn enable_gro(socket: impl AsFd) -> bool {
    raw::set_int(socket, libc::SOL_UDP, libc::UDP_GRO, 1).is_ok()
}

/// Whether a receive may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until one message is there, or the socket's receive timeout is over.
    ForOne,
    /// Not at all.
    Never,
}

/// Receives several messages per call into memory of its own.
#[derive(Debug)]
pub struct GroReceiver {
    pages: Pages,
    addresses: Vec<Address>,
    controls: Vec<Control>,
    parts: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    received: usize,
}

// SAFETY: the pointers in `parts` and `headers` lead to memory that the same value owns.
unsafe impl Send for GroReceiver {}

impl GroReceiver {
    /// Makes room for `slots` messages of up to 65 536 bytes; room never used costs no memory.
    ///
    /// # Errors
    /// Out of address space.
    ///
    /// # Panics
    /// When `slots` is 0.
    pub fn new(slots: usize) -> io::Result<Self> {
        assert!(slots > 0, "a receiver without room receives nothing");
        let mut pages = Pages::map(slots * SLOT)?;
        let mut addresses = vec![Address::default(); slots];
        let mut controls = vec![Control::empty(); slots];
        let part = |slot: &mut [u8]| libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: slot.len(),
        };
        let mut parts: Vec<_> = pages.bytes_mut().chunks_exact_mut(SLOT).map(part).collect();
        let header = |((part, address), control): ((&mut _, &mut Address), &mut Control)| {
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
        let rooms = parts.iter_mut().zip(&mut addresses).zip(&mut controls);
        let headers = rooms.map(header).collect();
        Ok(Self {
            pages,
            addresses,
            controls,
            parts,
            headers,
            received: 0,
        })
    }

    /// How many messages one [`GroReceiver::receive`] may bring.
    pub fn slots(&self) -> usize {
        self.parts.len()
    }

    /// Receives what is there, in place of what was received before; answers how many messages.
    ///
    /// # Errors
    /// `WouldBlock` when nothing came in the time `wait` and the socket's timeout allow;
    /// `Interrupted` by a signal; `ECONNREFUSED` when the peer refused an earlier datagram.
    pub fn receive(&mut self, socket: impl AsFd, wait: Wait) -> io::Result<usize> {
        let used = self.received;
        self.received = 0;
        // The kernel leaves its own lengths behind; what it has never used needs them a first time.
        let stale = if used == 0 { self.headers.len() } else { used };
        for header in &mut self.headers[..stale] {
            header.msg_hdr.msg_namelen = Address::ROOM as libc::socklen_t;
            header.msg_hdr.msg_controllen = Control::ROOM as _;
        }
        let fd = socket.as_fd().as_raw_fd();
        let many = self.headers.len() as libc::c_uint;
        let flags = match wait {
            Wait::ForOne => libc::MSG_WAITFORONE,
            Wait::Never => libc::MSG_DONTWAIT,
        };
        let headers = self.headers.as_mut_ptr();
        // SAFETY: there are `many` headers, which point at room this value owns and borrows mutably.
        let answer = unsafe { libc::recvmmsg(fd, headers, many, flags as _, ptr::null_mut()) };
        self.received = number(answer)? as usize;
        Ok(self.received)
    }

    /// The message at `index` of those received last.
    ///
    /// # Panics
    /// When `index` is not below the number received.
    pub fn message(&self, index: usize) -> Received<'_> {
        let header = &self.headers[..self.received][index];
        let length = (header.msg_len as usize).min(SLOT);
        let mut received = Received {
            data: &self.pages.bytes()[index * SLOT..][..length],
            segment: length,
            kernel_time_ns: None,
            socket_drops: None,
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            source: self.addresses[index].decode(header.msg_hdr.msg_namelen as usize),
        };
        let filled = header.msg_hdr.msg_controllen;
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
                _ => {}
            }
        }
        received
    }

    /// The messages received last, in the order they came.
    pub fn messages(&self) -> impl Iterator<Item = Received<'_>> {
        (0..self.received).map(|index| self.message(index))
    }
}

/// One message: one datagram, or several of one size and one source.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// The payloads, one after the other.
    pub data: &'a [u8],
    /// The size in bytes of each datagram but the last, which may be shorter.
    pub segment: usize,
    /// When the kernel got it, on the wall clock, after [`enable_receive_timestamps`].
    pub kernel_time_ns: Option<u64>,
    /// How many packets this socket has dropped so far, after [`enable_drop_counter`].
    ///
    /// `None` as long as there are none. Wraps at 2³². A packet that was merged counts once.
    pub socket_drops: Option<u32>,
    /// Whether the message was longer than the room for it.
    pub truncated: bool,
    /// Who sent it; an IPv4 source on an IPv6 socket is a mapped address.
    pub source: Option<SocketAddr>,
}

impl<'a> Received<'a> {
    /// The datagrams in it, in the order they came.
    pub fn datagrams(self) -> impl Iterator<Item = &'a [u8]> {
        self.data.chunks(self.segment.max(1))
    }
}

/// Has the kernel note the wall clock when a packet arrives, and tell it with the message.
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn enable_receive_timestamps(socket: impl AsFd) -> io::Result<()> {
    raw::set_int(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Has the kernel tell with each message how many packets the socket dropped before it.
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn enable_drop_counter(socket: impl AsFd) -> io::Result<()> {
    raw::set_int(socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)
}

/// What a socket occupies, in bytes of kernel memory. Source: `SK_MEMINFO_*`, linux/sock_diag.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemInfo {
    /// Waiting to be read.
    pub rmem_alloc: u32,
    /// The limit of `rmem_alloc`.
    pub rcvbuf: u32,
    /// Handed to the network and not yet released.
    pub wmem_alloc: u32,
    /// The limit of `wmem_alloc`.
    pub sndbuf: u32,
    /// Reserved for what comes next.
    pub fwd_alloc: u32,
    /// Waiting to be sent.
    pub wmem_queued: u32,
    /// Taken by options and filters.
    pub optmem: u32,
    /// Arrived while the socket was busy.
    pub backlog: u32,
    /// Packets, not bytes, dropped so far. Wraps at 2³².
    pub drops: u32,
}

/// What `socket` occupies at this moment; `None` before Linux 4.12.
pub fn meminfo(socket: impl AsFd) -> Option<MemInfo> {
    let mut bytes = [0; 9 * size_of::<u32>()];
    let filled = raw::option(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut bytes).ok()?;
    let at = |index| raw::u32_at(&bytes[..filled], index * size_of::<u32>());
    Some(MemInfo {
        rmem_alloc: at(0)?,
        rcvbuf: at(1)?,
        wmem_alloc: at(2)?,
        sndbuf: at(3)?,
        fwd_alloc: at(4)?,
        wmem_queued: at(5)?,
        optmem: at(6)?,
        backlog: at(7)?,
        drops: at(8)?,
    })
}

/// Lets a receive that waits give up with `WouldBlock` after `timeout`; `None` never.
///
/// # Errors
/// `InvalidInput` for a timeout of zero.
pub fn set_receive_timeout(socket: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
    if timeout == Some(Duration::ZERO) {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    socket2::SockRef::from(&socket).set_read_timeout(timeout)
}

/// Has the kernel tell which of this machine's addresses a datagram was sent to.
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn enable_packet_info(socket: impl AsFd, v6: bool) -> io::Result<()> {
    match v6 {
        true => raw::set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1),
        false => raw::set_int(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1),
    }
}

/// Receives one datagram: its length, who sent it, and which local address it was sent to.
///
/// The last is `None` without [`enable_packet_info`]. Both are as the socket's family writes them:
/// on an IPv6 socket an IPv4 address is a mapped one.
///
/// # Errors
/// `WouldBlock` when the socket's timeout is over; `Interrupted` by a signal.
pub fn receive_with_destination(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> io::Result<(usize, SocketAddr, Option<IpAddr>)> {
    let arrival = raw::receive_with_control(socket, buffer, 0)?;
    let source = arrival.source.ok_or(io::ErrorKind::InvalidData)?;
    let told = |(level, kind, data): (_, _, &[u8])| raw::packet_destination(level, kind, data);
    Ok((arrival.length, source, arrival.control().find_map(told)))
}

/// Forbids (`on`) or allows that routers or this machine cut a datagram into fragments.
///
/// When forbidden, a send beyond the known path MTU fails with `EMSGSIZE`. On a socket that is `v6`
/// it covers the IPv4 it may speak as well. Source: ip(7), `IP_MTU_DISCOVER`.
///
/// # Errors
/// Whatever the kernel has against the socket.
pub fn set_dont_fragment(socket: impl AsFd, v6: bool, on: bool) -> io::Result<()> {
    let discovery = if on {
        libc::IP_PMTUDISC_DO
    } else {
        libc::IP_PMTUDISC_DONT
    };
    let v4 = raw::set_int(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, discovery);
    if !v6 {
        return v4;
    }
    // The values mean the same in both families; a socket kept to IPv6 may refuse the first.
    raw::set_int(
        socket,
        libc::IPPROTO_IPV6,
        libc::IPV6_MTU_DISCOVER,
        discovery,
    )
}

/// The path MTU the kernel believes in for a connected socket, in bytes with the IP header.
pub fn path_mtu(socket: impl AsFd) -> Option<u32> {
    let (level, name) = match raw::is_v6(&socket) {
        true => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
        false => (libc::IPPROTO_IP, libc::IP_MTU),
    };
    u32::try_from(raw::int(socket, level, name).ok()?).ok()
}

/// Takes the error that waits at the socket, if one does, such as a port that refused a datagram.
pub fn pending_error(socket: impl AsFd) -> Option<io::Error> {
    match raw::int(socket, libc::SOL_SOCKET, libc::SO_ERROR) {
        Ok(0) => None,
        Ok(error) => Some(io::Error::from_raw_os_error(error)),
        Err(error) => Some(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> io::Result<(UdpSocket, UdpSocket)> {
        let receiver = UdpSocket::bind("127.0.0.1:0")?;
        set_receive_timeout(&receiver, Some(Duration::from_secs(10)))?;
        let sender = UdpSocket::bind("127.0.0.1:0")?;
        sender.connect(receiver.local_addr()?)?;
        Ok((sender, receiver))
    }

    fn numbered(datagrams: u8, size: usize) -> Vec<u8> {
        (0..datagrams)
            .flat_map(|number| vec![number; size])
            .collect()
    }

    #[test]
    fn a_run_of_datagrams_arrives_uncut_with_its_size() -> io::Result<()> {
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
        let mut room = GroReceiver::new(4)?;
        assert_eq!(room.receive(&receiver, Wait::ForOne)?, 1);
        let message = room.message(0);
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
        let mut room = GroReceiver::new(4)?;
        for (expected, first) in [(4, 0), (4, 4), (2, 8)] {
            assert_eq!(room.receive(&receiver, Wait::ForOne)?, expected);
            let numbers: Vec<_> = room.messages().map(|message| message.data[0]).collect();
            assert_eq!(numbers, (first..first + expected as u8).collect::<Vec<_>>());
            assert!(room.messages().all(|message| message.segment == 100));
        }
        Ok(())
    }

    #[test]
    fn as_many_segments_as_the_kernel_says_go_through_and_one_more_does_not() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        let gso = GsoSender::new(&sender);
        if gso.max_segments() == 1 || !enable_gro(&receiver) {
            return Ok(());
        }
        let most = usize::from(gso.max_segments());
        assert_eq!(send_segments(&sender, &vec![0; most * 10], 10)?, most * 10);
        let refusal = send_segments(&sender, &vec![0; (most + 1) * 10], 10).unwrap_err();
        assert_eq!(refusal.raw_os_error(), Some(libc::EINVAL));
        Ok(())
    }

    #[test]
    fn the_largest_payload_is_whole_datagrams_within_both_limits() {
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
    fn a_segment_of_nothing_is_refused() -> io::Result<()> {
        let (sender, _receiver) = pair()?;
        let refusal = send_segments(&sender, &[1], 0).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::InvalidInput);
        Ok(())
    }

    #[test]
    fn a_receive_that_may_not_wait_says_that_nothing_is_there() -> io::Result<()> {
        let (_sender, receiver) = pair()?;
        let mut room = GroReceiver::new(2)?;
        let refusal = room.receive(&receiver, Wait::Never).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(room.messages().count(), 0);
        Ok(())
    }

    #[test]
    fn a_message_carries_the_time_of_its_arrival() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        enable_receive_timestamps(&receiver)?;
        let before = crate::clock::realtime_ns();
        sender.send(&[1])?;
        let mut room = GroReceiver::new(1)?;
        room.receive(&receiver, Wait::ForOne)?;
        let stamp = room.message(0).kernel_time_ns.unwrap();
        assert!((before..=crate::clock::realtime_ns()).contains(&stamp));
        Ok(())
    }

    #[test]
    fn what_a_full_socket_drops_is_counted() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        enable_drop_counter(&receiver)?;
        crate::buffers::set_receive_buffer(&receiver, 4096, false)?;
        for _ in 0..100 {
            sender.send(&[0; 1000])?;
        }
        let dropped = meminfo(&receiver).unwrap().drops;
        assert!((1..100).contains(&dropped));
        let mut room = GroReceiver::new(128)?;
        assert_eq!(
            room.receive(&receiver, Wait::ForOne)?,
            100 - dropped as usize
        );
        sender.send(&[0])?;
        room.receive(&receiver, Wait::ForOne)?;
        assert_eq!(room.message(0).socket_drops, Some(dropped));
        Ok(())
    }

    #[test]
    fn a_listener_learns_which_address_was_called() -> io::Result<()> {
        let table = [
            ("0.0.0.0:0", "127.0.0.2", "127.0.0.2", false),
            ("[::]:0", "127.0.0.2", "::ffff:127.0.0.2", true),
            ("[::]:0", "::1", "::1", true),
        ];
        for (bound, called, told, v6) in table {
            let listener = UdpSocket::bind(bound)?;
            set_receive_timeout(&listener, Some(Duration::from_secs(10)))?;
            enable_packet_info(&listener, v6)?;
            let called: IpAddr = called.parse().unwrap();
            let caller = UdpSocket::bind(if called.is_ipv4() {
                "0.0.0.0:0"
            } else {
                "[::]:0"
            })?;
            caller.send_to(b"hello", (called, listener.local_addr()?.port()))?;
            let mut buffer = [0; 16];
            let (length, source, local) = receive_with_destination(&listener, &mut buffer)?;
            assert_eq!(&buffer[..length], b"hello");
            assert_eq!(source.port(), caller.local_addr()?.port());
            assert_eq!(local, Some(told.parse().unwrap()));
        }
        Ok(())
    }

    #[test]
    fn a_connected_socket_knows_its_path_mtu() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        assert!(path_mtu(&sender).is_some_and(|mtu| mtu >= 1280));
        assert_eq!(path_mtu(&receiver), None);
        set_dont_fragment(&sender, false, true)?;
        set_dont_fragment(UdpSocket::bind("[::]:0")?, true, false)
    }

    #[test]
    fn a_refused_datagram_shows_as_a_pending_error() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        assert!(pending_error(&sender).is_none());
        drop(receiver);
        sender.send(&[1])?;
        let error = pending_error(&sender).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert!(pending_error(&sender).is_none());
        Ok(())
    }
}
