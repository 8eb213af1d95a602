//! TCP: what the kernel knows of a connection, how it is told to behave, and bytes in and out.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::raw::{self, Pages, count, number};

/// The size of `struct tcp_info` in Linux 6.18; kernels fill as much of it as they know.
const INFO_SIZE: usize = 280;
/// Bytes not yet sent for the first time. Source: include/uapi/linux/sockios.h.
const SIOCOUTQNSD: c_int = 0x894b;
/// Source: include/uapi/linux/mptcp.h and include/linux/socket.h.
const SOL_MPTCP: c_int = 284;
const MPTCP_INFO: c_int = 1;
const MPTCP_INFO_FLAG_FALLBACK: u32 = 1;

/// What the kernel knows of a TCP connection, as of one moment.
///
/// Counts and sizes are the sender's view unless they say received. What an older kernel does not tell
/// is `None`. Source: `struct tcp_info`, include/uapi/linux/tcp.h, whose names these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// The state of the connection, `TCP_ESTABLISHED` (1) and so on, include/net/tcp_states.h.
    pub state: u8,
    /// What congestion control is at: 0 open, 1 disorder, 2 reduced window, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// Timeouts in a row without an answer.
    pub retransmits: u8,
    /// Probes of a closed window without an answer.
    pub probes: u8,
    /// How often the timeout has been doubled.
    pub backoff: u8,
    /// What was agreed: 1 timestamps, 2 SACK, 4 window scale, 8 ECN, 16 ECN seen, 32 fast-open data.
    pub options: u8,
    /// The shift of the windows the peer announces.
    pub send_scale: u8,
    /// The shift of the windows this end announces.
    pub receive_scale: u8,
    /// Whether `delivery_rate` was held down by a sender with nothing to send.
    pub delivery_rate_app_limited: bool,
    /// The retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// The delayed acknowledgement timeout, in microseconds.
    pub ato_us: u32,
    /// The payload of a full segment sent, in bytes.
    pub snd_mss: u32,
    /// An estimate of the payload of a full segment received, in bytes.
    pub rcv_mss: u32,
    /// Segments in flight; on a listener, connections waiting to be accepted.
    pub unacked: u32,
    /// Segments beyond a gap that the peer has; on a listener, the limit of the backlog.
    pub sacked: u32,
    /// Segments taken for lost.
    pub lost: u32,
    /// Segments sent again and still in flight.
    pub retrans: u32,
    /// Milliseconds since data was sent.
    pub last_data_sent_ms: u32,
    /// Milliseconds since data was received.
    pub last_data_recv_ms: u32,
    /// Milliseconds since an acknowledgement was received.
    pub last_ack_recv_ms: u32,
    /// The path MTU, in bytes.
    pub pmtu: u32,
    /// The window this end is ready to announce, in bytes.
    pub rcv_ssthresh: u32,
    /// The smoothed round trip, in microseconds.
    pub rtt_us: u32,
    /// The mean deviation of the round trip, in microseconds.
    pub rttvar_us: u32,
    /// The slow-start threshold, in segments; 2³¹ - 1 while there is none.
    pub snd_ssthresh: u32,
    /// The congestion window, in segments.
    pub snd_cwnd: u32,
    /// The segment size announced to the peer, in bytes.
    pub advmss: u32,
    /// How many segments late a segment may be and not count as lost.
    pub reordering: u32,
    /// The round trip as a receiver sees it, in microseconds; 0 while unknown.
    pub rcv_rtt_us: u32,
    /// What the program reads in a round trip, in bytes, for sizing the buffer.
    pub rcv_space: u32,
    /// Segments sent again since the start.
    pub total_retrans: u32,
    /// The rate segments are spread to, in bytes per second; all ones for none. Since 3.15.
    pub pacing_rate: Option<u64>,
    /// The limit of `pacing_rate`, in bytes per second; all ones for none. Since 3.15.
    pub max_pacing_rate: Option<u64>,
    /// Bytes the peer has acknowledged. Since 4.1.
    pub bytes_acked: Option<u64>,
    /// Bytes received in order. Since 4.1.
    pub bytes_received: Option<u64>,
    /// Segments sent, bare acknowledgements included. Since 4.2.
    pub segs_out: Option<u32>,
    /// Segments received, bare acknowledgements included. Since 4.2.
    pub segs_in: Option<u32>,
    /// Bytes written but never sent yet. Since 4.6.
    pub notsent_bytes: Option<u32>,
    /// The least round trip of late, in microseconds; `None` while unknown. Since 4.6.
    pub min_rtt_us: Option<u32>,
    /// Segments with payload received. Since 4.6.
    pub data_segs_in: Option<u32>,
    /// Segments with payload sent. Since 4.6.
    pub data_segs_out: Option<u32>,
    /// The latest rate of delivery, in bytes per second. Since 4.9.
    pub delivery_rate: Option<u64>,
    /// Time with something to send, in microseconds, the two below included. Since 4.10.
    pub busy_time_us: Option<u64>,
    /// Time held up by the peer's window, in microseconds. Since 4.10.
    pub rwnd_limited_us: Option<u64>,
    /// Time held up by a full send buffer, in microseconds. Since 4.10.
    pub sndbuf_limited_us: Option<u64>,
    /// Segments that arrived, repetitions included. Since 4.18.
    pub delivered: Option<u32>,
    /// Segments that arrived with a congestion mark. Since 4.18.
    pub delivered_ce: Option<u32>,
    /// Payload sent, repetitions included, in bytes. Since 4.19.
    pub bytes_sent: Option<u64>,
    /// Payload sent again, in bytes. Since 4.19.
    pub bytes_retrans: Option<u64>,
    /// Segments the peer reported to have twice. Since 4.19.
    pub dsack_dups: Option<u32>,
    /// Times reordering was noticed. Since 4.19.
    pub reord_seen: Option<u32>,
    /// Segments received out of order. Since 5.4.
    pub rcv_ooopack: Option<u32>,
    /// The window the peer announces, scaled, in bytes. Since 5.4.
    pub snd_wnd: Option<u32>,
    /// The window this end announces, scaled, in bytes. Since 6.2.
    pub rcv_wnd: Option<u32>,
    /// Times the flow was moved to another path after timeouts. Since 6.2.
    pub rehash: Option<u32>,
    /// Retransmission timeouts since the start. Since 6.7.
    pub total_rto: Option<u16>,
    /// Recoveries from timeouts, the last one perhaps unfinished. Since 6.7.
    pub total_rto_recoveries: Option<u16>,
    /// Time spent recovering from timeouts, in milliseconds. Since 6.7.
    pub total_rto_time_ms: Option<u32>,
}

impl TcpInfo {
    /// Reads as much of a `struct tcp_info` as `bytes` hold.
    fn decode(bytes: &[u8]) -> Self {
        let byte = |offset: usize| bytes.get(offset).copied().unwrap_or(0);
        Self {
            state: byte(0),
            ca_state: byte(1),
            retransmits: byte(2),
            probes: byte(3),
            backoff: byte(4),
            options: byte(5),
            send_scale: byte(6) & 0xf,
            receive_scale: byte(6) >> 4,
            delivery_rate_app_limited: byte(7) & 1 != 0,
            rto_us: raw::u32_at(bytes, 8).unwrap_or(0),
            ato_us: raw::u32_at(bytes, 12).unwrap_or(0),
            snd_mss: raw::u32_at(bytes, 16).unwrap_or(0),
            rcv_mss: raw::u32_at(bytes, 20).unwrap_or(0),
            unacked: raw::u32_at(bytes, 24).unwrap_or(0),
            sacked: raw::u32_at(bytes, 28).unwrap_or(0),
            lost: raw::u32_at(bytes, 32).unwrap_or(0),
            retrans: raw::u32_at(bytes, 36).unwrap_or(0),
            last_data_sent_ms: raw::u32_at(bytes, 44).unwrap_or(0),
            last_data_recv_ms: raw::u32_at(bytes, 52).unwrap_or(0),
            last_ack_recv_ms: raw::u32_at(bytes, 56).unwrap_or(0),
            pmtu: raw::u32_at(bytes, 60).unwrap_or(0),
            rcv_ssthresh: raw::u32_at(bytes, 64).unwrap_or(0),
            rtt_us: raw::u32_at(bytes, 68).unwrap_or(0),
            rttvar_us: raw::u32_at(bytes, 72).unwrap_or(0),
            snd_ssthresh: raw::u32_at(bytes, 76).unwrap_or(0),
            snd_cwnd: raw::u32_at(bytes, 80).unwrap_or(0),
            advmss: raw::u32_at(bytes, 84).unwrap_or(0),
            reordering: raw::u32_at(bytes, 88).unwrap_or(0),
            rcv_rtt_us: raw::u32_at(bytes, 92).unwrap_or(0),
            rcv_space: raw::u32_at(bytes, 96).unwrap_or(0),
            total_retrans: raw::u32_at(bytes, 100).unwrap_or(0),
            pacing_rate: raw::u64_at(bytes, 104),
            max_pacing_rate: raw::u64_at(bytes, 112),
            bytes_acked: raw::u64_at(bytes, 120),
            bytes_received: raw::u64_at(bytes, 128),
            segs_out: raw::u32_at(bytes, 136),
            segs_in: raw::u32_at(bytes, 140),
            notsent_bytes: raw::u32_at(bytes, 144),
            min_rtt_us: raw::u32_at(bytes, 148).filter(|&rtt| rtt != u32::MAX),
            data_segs_in: raw::u32_at(bytes, 152),
            data_segs_out: raw::u32_at(bytes, 156),
            delivery_rate: raw::u64_at(bytes, 160),
            busy_time_us: raw::u64_at(bytes, 168),
            rwnd_limited_us: raw::u64_at(bytes, 176),
            sndbuf_limited_us: raw::u64_at(bytes, 184),
            delivered: raw::u32_at(bytes, 192),
            delivered_ce: raw::u32_at(bytes, 196),
            bytes_sent: raw::u64_at(bytes, 200),
            bytes_retrans: raw::u64_at(bytes, 208),
            dsack_dups: raw::u32_at(bytes, 216),
            reord_seen: raw::u32_at(bytes, 220),
            rcv_ooopack: raw::u32_at(bytes, 224),
            snd_wnd: raw::u32_at(bytes, 228),
            rcv_wnd: raw::u32_at(bytes, 232),
            rehash: raw::u32_at(bytes, 236),
            total_rto: raw::u16_at(bytes, 240),
            total_rto_recoveries: raw::u16_at(bytes, 242),
            total_rto_time_ms: raw::u32_at(bytes, 244),
        }
    }
}

/// What the kernel knows of `socket` now.
///
/// # Errors
/// What the kernel has against the socket, such as not being TCP.
pub fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let mut bytes = [0; INFO_SIZE];
    let filled = raw::option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    Ok(TcpInfo::decode(&bytes[..filled]))
}

/// Chooses the congestion control by the name the kernel knows it by.
///
/// # Errors
/// `NotFound` when the kernel has none of that name; `PermissionDenied` when it is not allowed to
/// everyone.
pub fn set_congestion(socket: impl AsFd, name: &str) -> io::Result<()> {
    raw::set_option(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_CONGESTION,
        name.as_bytes(),
    )
}

/// The name of the congestion control in use.
///
/// # Errors
/// What the kernel has against the socket.
pub fn congestion(socket: impl AsFd) -> io::Result<String> {
    let mut name = [0; 16];
    let filled = raw::option(socket, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name)?;
    let name = name[..filled]
        .split(|&byte| byte == 0)
        .next()
        .unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// The congestion controls the kernel has loaded; empty when it does not say.
pub fn available_congestion_controls() -> Vec<String> {
    let listed = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    listed
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// Limits the segments, before connecting or listening.
///
/// The figure counts payload and TCP options, so with timestamps 12 bytes less are payload.
///
/// # Errors
/// `EINVAL` outside 88 to 32 767.
pub fn set_max_segment(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    raw::set_int(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes)
}

/// The payload of a full segment, in bytes; before connecting, the limit that was set or a default.
///
/// # Errors
/// What the kernel has against the socket.
pub fn max_segment(socket: impl AsFd) -> io::Result<u32> {
    raw::int(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG).map(c_int::unsigned_abs)
}

/// Has the kernel spread what is sent to at most this rate; all ones takes the limit away.
///
/// TCP keeps to it by itself; UDP needs the `fq` queue at the interface.
///
/// # Errors
/// What the kernel has against the socket.
pub fn set_pacing_rate(socket: impl AsFd, bytes_per_second: u64) -> io::Result<()> {
    let rate = bytes_per_second.to_ne_bytes();
    raw::set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &rate)
}

/// Bytes written and never sent yet.
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

/// A stream socket that uses several paths when the peer does too, and is TCP otherwise.
///
/// # Errors
/// `EPROTONOSUPPORT` where the kernel is built without it, `ENOPROTOOPT` where it is switched off.
pub fn mptcp_socket(domain: Domain) -> io::Result<Socket> {
    Socket::new(
        domain,
        Type::STREAM,
        Some(Protocol::from(libc::IPPROTO_MPTCP)),
    )
}

/// Whether a connected socket really uses MPTCP; `false` for plain TCP and after a fallback to it.
pub fn is_mptcp_active(socket: impl AsFd) -> Option<bool> {
    // `mptcpi_flags` follows six counters of a byte each, at its natural alignment.
    let mut info = [0; 12];
    match raw::option(socket, SOL_MPTCP, MPTCP_INFO, &mut info) {
        Ok(filled) => Some(raw::u32_at(&info[..filled], 8)? & MPTCP_INFO_FLAG_FALLBACK == 0),
        Err(error) => match error.raw_os_error()? {
            libc::EOPNOTSUPP | libc::ENOPROTOOPT => Some(false),
            _ => None,
        },
    }
}

/// Acknowledges at once (`on`) or lets acknowledgements wait for company. The kernel may change its
/// mind later.
///
/// # Errors
/// What the kernel has against the socket.
pub fn set_quickack(socket: impl AsFd, on: bool) -> io::Result<()> {
    raw::set_int(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_QUICKACK,
        c_int::from(on),
    )
}

/// Lets the kernel wake a reader only once `bytes` are there to be read, or the other end has finished.
///
/// A kernel that sizes the receive buffer itself makes it twice as large at least.
/// Source: `tcp_set_rcvlowat`, net/ipv4/tcp.c.
///
/// # Errors
/// What the kernel has against the socket.
pub fn set_receive_low_water(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    raw::set_int(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Makes closing drop what is not yet sent and reset the connection, leaving no `TIME_WAIT` behind.
///
/// # Errors
/// What the kernel has against the socket.
pub fn set_zero_linger(socket: impl AsFd) -> io::Result<()> {
    SockRef::from(&socket).set_linger(Some(Duration::ZERO))
}

/// Sends a beginning of `payload` and answers how long it was. A closed connection raises no signal.
///
/// # Errors
/// `WouldBlock` when nothing fits and the socket does not wait, or not any longer; `Interrupted` by
/// a signal; `BrokenPipe` and `ConnectionReset` when the peer is gone.
pub fn send_some(socket: impl AsFd, payload: &[u8]) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    let (start, length) = (payload.as_ptr().cast(), payload.len());
    // SAFETY: `payload` is readable for `length` bytes and the descriptor is borrowed for the call.
    count(unsafe { libc::send(fd, start, length, libc::MSG_NOSIGNAL) })
}

/// Receives into a beginning of `buffer` and answers how long it is; 0 is the end of the stream.
///
/// # Errors
/// `WouldBlock` when nothing is there and the socket does not wait, or not any longer; `Interrupted`
/// by a signal; `ConnectionReset` when the peer gave up.
pub fn receive_some(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    let (start, length) = (buffer.as_mut_ptr().cast(), buffer.len());
    // SAFETY: `buffer` is writable for `length` bytes and the descriptor is borrowed for the call.
    count(unsafe { libc::recv(fd, start, length, 0) })
}

/// Drops up to `max` received bytes inside the kernel and answers how many; 0 is the end.
///
/// For TCP only. Source: tcp(7), `MSG_TRUNC`.
///
/// # Errors
/// Those of [`receive_some`].
pub fn discard_some(socket: impl AsFd, max: usize) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: TCP stores nothing with this flag; what did store would fail at the null address.
    count(unsafe { libc::recv(fd, ptr::null_mut(), max, libc::MSG_TRUNC) })
}

/// Ends the stream in the direction of sending, after all that was sent.
///
/// # Errors
/// `NotConnected` when the connection is gone.
pub fn shutdown_write(socket: impl AsFd) -> io::Result<()> {
    SockRef::from(&socket).shutdown(std::net::Shutdown::Write)
}

/// Sends up to `max` bytes of `file` from `offset` without passing them through this process.
///
/// Moves `offset` on by what was sent and answers it; 0 is the end of the file. A closed connection
/// raises `SIGPIPE`, which [`crate::signal::ignore_sigpipe`] turns off.
///
/// # Errors
/// Those of [`send_some`], and what the file has against being read.
pub fn send_file_some(
    out: impl AsFd,
    file: impl AsFd,
    offset: &mut u64,
    max: usize,
) -> io::Result<usize> {
    let from_start = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let mut position = libc::off_t::try_from(*offset).map_err(from_start)?;
    let (out, file) = (out.as_fd().as_raw_fd(), file.as_fd().as_raw_fd());
    // SAFETY: `position` is live and the descriptors are borrowed for the call.
    let sent = count(unsafe { libc::sendfile(out, file, &mut position, max) })?;
    *offset += sent as u64;
    Ok(sent)
}

/// Sends the same pages over and over without copying them out of this process.
///
/// One pipe keeps the pages for good. Each send lends them to a second pipe (`tee`) and moves that
/// one's content into the socket (`splice`), so the kernel passes references and touches no payload.
#[derive(Debug)]
pub struct SplicedSource {
    kept: Pipe,
    lent: Pipe,
    /// How much was lent and has not been sent yet.
    waiting: usize,
}

impl SplicedSource {
    /// The most to be lent at once: with more than this, loopback gets slower again.
    const MOST: usize = 256 * 1024;

    /// A source whose pages repeat after `block` bytes, rounded up to pages and held to 256 KiB.
    ///
    /// The pages hold a pattern that no link can compress. Where pipes may not grow that far, as
    /// for an ordinary user with many of them, the pages repeat sooner.
    ///
    /// # Errors
    /// Out of descriptors or memory.
    pub fn new(block: usize) -> io::Result<Self> {
        let wanted = block.clamp(1, Self::MOST).next_multiple_of(page_size());
        let (kept, lent) = (Pipe::new(wanted)?, Pipe::new(wanted)?);
        let length = wanted.min(kept.capacity()?);
        let mut pages = Pages::map(length)?;
        fill_with_noise(pages.bytes_mut());
        // The pipe holds the pages themselves, so they outlive the mapping that is dropped here.
        let mut filled = 0;
        while filled < length {
            let rest = &pages.bytes()[filled..];
            let part = libc::iovec {
                iov_base: rest.as_ptr().cast_mut().cast(),
                iov_len: rest.len(),
            };
            let pipe = kept.writer.as_raw_fd();
            // SAFETY: `part` is live and names readable pages, which nobody writes to from here on.
            filled += count(unsafe { libc::vmsplice(pipe, &part, 1, libc::SPLICE_F_NONBLOCK) })?;
        }
        Ok(Self {
            kept,
            lent,
            waiting: 0,
        })
    }

    /// Sends up to `max` bytes and answers how many.
    ///
    /// No more than 256 KiB go out per call. A closed connection raises `SIGPIPE`, which
    /// [`crate::signal::ignore_sigpipe`] turns off.
    ///
    /// # Errors
    /// Those of [`send_some`].
    pub fn send_some(&mut self, socket: impl AsFd, max: usize) -> io::Result<usize> {
        if let Some(missing @ 1..) = max.checked_sub(self.waiting) {
            let (from, to) = (self.kept.reader.as_raw_fd(), self.lent.writer.as_raw_fd());
            // SAFETY: both ends are owned by this value.
            match count(unsafe { libc::tee(from, to, missing, libc::SPLICE_F_NONBLOCK) }) {
                Ok(lent) => self.waiting += lent,
                // Small rests can fill the pipe before the bytes do; they go out first.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.waiting > 0 => {}
                Err(error) => return Err(error),
            }
        }
        let length = self.waiting.min(max);
        if length == 0 {
            return Ok(0);
        }
        let (from, to) = (self.lent.reader.as_raw_fd(), socket.as_fd().as_raw_fd());
        let (here, flags) = (ptr::null_mut(), libc::SPLICE_F_MOVE);
        // SAFETY: the pipe is owned, the socket borrowed, and no offsets are given.
        let sent = count(unsafe { libc::splice(from, here, to, here, length, flags) })?;
        self.waiting -= sent;
        Ok(sent)
    }
}

#[derive(Debug)]
struct Pipe {
    reader: io::PipeReader,
    writer: io::PipeWriter,
}

impl Pipe {
    /// A pipe with room for `bytes` if permitted, and as it comes otherwise.
    fn new(bytes: usize) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the command takes a number and the descriptor is owned.
        unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) };
        Ok(Self { reader, writer })
    }

    fn capacity(&self) -> io::Result<usize> {
        // SAFETY: the command takes nothing and the descriptor is owned.
        let bytes = number(unsafe { libc::fcntl(self.writer.as_raw_fd(), libc::F_GETPIPE_SZ) })?;
        Ok(bytes as usize)
    }
}

fn page_size() -> usize {
    // SAFETY: the call takes a number; the page size is always known.
    let answer = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(answer).unwrap_or(4096)
}

/// Source: Marsaglia, "Xorshift RNGs", 2003; the triple 13, 7, 17.
fn fill_with_noise(bytes: &mut [u8]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for chunk in bytes.chunks_exact_mut(size_of::<u64>()) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunk.copy_from_slice(&state.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    fn pair() -> io::Result<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        let (far, _) = listener.accept()?;
        for stream in [&near, &far] {
            let patience = Some(Duration::from_secs(10));
            stream.set_read_timeout(patience)?;
            stream.set_write_timeout(patience)?;
        }
        Ok((near, far))
    }

    fn discard_all(stream: &TcpStream) -> io::Result<usize> {
        let mut total = 0;
        loop {
            match discard_some(stream, 1 << 20)? {
                0 => return Ok(total),
                discarded => total += discarded,
            }
        }
    }

    #[test]
    fn the_kernel_tells_what_crossed() -> io::Result<()> {
        let (near, far) = pair()?;
        assert_eq!(send_some(&near, &[7; 10_000])?, 10_000);
        let mut buffer = [0; 10_000];
        (&far).read_exact(&mut buffer)?;
        let (sender, receiver) = (tcp_info(&near)?, tcp_info(&far)?);
        assert_eq!(sender.state, 1);
        assert!(sender.snd_mss > 500 && sender.snd_cwnd > 0 && sender.rtt_us > 0);
        if let Some(received) = receiver.bytes_received {
            assert_eq!(received, 10_000);
        }
        if let Some(sent) = sender.bytes_sent {
            assert_eq!(sent, 10_000);
        }
        assert_eq!(sender.bytes_retrans.unwrap_or(0), 0);
        Ok(())
    }

    #[test]
    fn an_older_kernel_answers_less() {
        let bytes: Vec<u8> = (0..=255).cycle().take(INFO_SIZE).collect();
        type IsThere = fn(&TcpInfo) -> bool;
        let table: [(usize, IsThere); 6] = [
            (112, |info| info.pacing_rate.is_some()),
            (152, |info| info.min_rtt_us.is_some()),
            (192, |info| info.sndbuf_limited_us.is_some()),
            (216, |info| info.bytes_retrans.is_some()),
            (232, |info| info.snd_wnd.is_some()),
            (248, |info| info.total_rto_time_ms.is_some()),
        ];
        for (end, is_there) in table {
            assert!(
                is_there(&TcpInfo::decode(&bytes[..end])),
                "with {end} bytes"
            );
            assert!(
                !is_there(&TcpInfo::decode(&bytes[..end - 1])),
                "with one byte less than {end}"
            );
        }
    }

    #[test]
    fn every_available_congestion_control_can_be_chosen() -> io::Result<()> {
        let names = available_congestion_controls();
        assert!(!names.is_empty());
        let (near, _far) = pair()?;
        for name in names {
            match set_congestion(&near, &name) {
                Ok(()) => assert_eq!(congestion(&near)?, name),
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
            }
        }
        assert!(set_congestion(&near, "no-such-name").is_err());
        Ok(())
    }

    #[test]
    fn what_is_written_waits_in_one_queue_until_it_is_read_from_the_other() -> io::Result<()> {
        let (near, far) = pair()?;
        send_some(&near, &[0; 1000])?;
        far.peek(&mut [0])?;
        assert_eq!((unsent_bytes(&near)?, in_queue(&far)?), (0, 1000));
        assert!(out_queue(&near)? <= 1000);
        assert_eq!(discard_some(&far, 400)?, 400);
        assert_eq!(in_queue(&far)?, 600);
        Ok(())
    }

    #[test]
    fn segments_and_pacing_can_be_limited() -> io::Result<()> {
        let (near, _far) = pair()?;
        set_pacing_rate(&near, 10_000_000_000)?;
        if let Some(limit) = tcp_info(&near)?.max_pacing_rate {
            assert_eq!(limit, 10_000_000_000);
        }
        set_quickack(&near, true)?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        set_max_segment(&socket, 1000)?;
        assert!(max_segment(&socket)? <= 1000);
        assert!(set_max_segment(&socket, 10).is_err());
        Ok(())
    }

    #[test]
    fn plain_tcp_is_no_mptcp() -> io::Result<()> {
        let (near, _far) = pair()?;
        assert_eq!(is_mptcp_active(&near), Some(false));
        let listener = TcpListener::bind("127.0.0.1:0")?;
        if let Ok(socket) = mptcp_socket(Domain::IPV4) {
            socket.connect(&listener.local_addr()?.into())?;
            let _accepted = listener.accept()?;
            assert_eq!(is_mptcp_active(&socket), Some(false));
        }
        Ok(())
    }

    #[test]
    fn two_ends_of_mptcp_find_each_other() -> io::Result<()> {
        let Ok(listener) = mptcp_socket(Domain::IPV4) else {
            return Ok(());
        };
        listener.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
        listener.listen(1)?;
        let socket = mptcp_socket(Domain::IPV4)?;
        socket.connect(&listener.local_addr()?)?;
        let (accepted, _) = listener.accept()?;
        assert_eq!(
            (is_mptcp_active(&socket), is_mptcp_active(&accepted)),
            (Some(true), Some(true))
        );
        Ok(())
    }

    #[test]
    fn closing_without_linger_resets() -> io::Result<()> {
        let (near, far) = pair()?;
        set_zero_linger(&near)?;
        drop(near);
        let refusal = receive_some(&far, &mut [0]).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::ConnectionReset);
        Ok(())
    }

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
    fn a_spliced_source_sends_exactly_as_much_as_it_is_allowed() -> io::Result<()> {
        for block in [0, 1, 5000, 131_072, 10_000_000] {
            let (near, far) = pair()?;
            let reader = thread::spawn(move || discard_all(&far));
            let mut source = SplicedSource::new(block)?;
            let mut total = 0;
            assert_eq!(source.send_some(&near, 0)?, 0);
            for max in (1..200).chain([4096, 100_001, 262_144, 3_000_000, 7]) {
                let sent = source.send_some(&near, max)?;
                assert!(
                    (1..=max).contains(&sent),
                    "{sent} of {max} with block {block}"
                );
                total += sent;
            }
            shutdown_write(&near)?;
            assert_eq!(reader.join().unwrap()?, total);
        }
        Ok(())
    }

    #[test]
    fn a_spliced_source_repeats_its_block() -> io::Result<()> {
        let (near, mut far) = pair()?;
        let mut source = SplicedSource::new(8192)?;
        for _ in 0..2 {
            assert_eq!(source.send_some(&near, 8192)?, 8192);
        }
        let (mut first, mut second) = ([0; 8192], [0; 8192]);
        far.read_exact(&mut first)?;
        far.read_exact(&mut second)?;
        assert_eq!(first, second);
        assert!(
            first
                .chunks(8)
                .zip(first.chunks(8).skip(1))
                .all(|(here, next)| here != next)
        );
        Ok(())
    }

    #[test]
    fn a_spliced_source_that_cannot_send_now_loses_nothing() -> io::Result<()> {
        let (near, far) = pair()?;
        near.set_nonblocking(true)?;
        let mut source = SplicedSource::new(131_072)?;
        let mut total = 0;
        let refusal = loop {
            match source.send_some(&near, 131_072) {
                Ok(sent) => total += sent,
                Err(error) => break error,
            }
        };
        assert_eq!(refusal.kind(), io::ErrorKind::WouldBlock);
        near.set_nonblocking(false)?;
        let reader = thread::spawn(move || discard_all(&far));
        for _ in 0..20 {
            total += source.send_some(&near, 131_072)?;
        }
        shutdown_write(&near)?;
        assert_eq!(reader.join().unwrap()?, total);
        Ok(())
    }

    #[test]
    fn a_file_is_sent_from_where_it_was_left() -> io::Result<()> {
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

    #[test]
    fn a_peer_that_is_gone_is_an_error() -> io::Result<()> {
        crate::signal::ignore_sigpipe()?;
        let (near, far) = pair()?;
        set_zero_linger(&far)?;
        drop(far);
        // The first send may only learn of it.
        let mut source = SplicedSource::new(4096)?;
        let attempts = (0..3)
            .map(|_| source.send_some(&near, 4096))
            .collect::<io::Result<Vec<_>>>();
        assert!(attempts.is_err());
        assert!(send_some(&near, &[0]).is_err());
        Ok(())
    }
}
