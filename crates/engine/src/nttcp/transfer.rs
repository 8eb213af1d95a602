//! The data: written and read in buffers of the length asked for, each call counted.

use crate::pacer::ByteSchedule;
use crate::socket::no_datagram;
use caudal_core::plan::MAX_DATAGRAM;
use caudal_core::units::BitRate;
use caudal_sys::clock::{CpuClock, monotonic_ns, realtime_ns, sleep_until};
use caudal_sys::poll::poll_readable;
use caudal_sys::udp::{GroReceiver, GsoSender, Wait};
use caudal_sys::{buffers, tcp as kernel};
use caudal_wire::nttcp::{MARK, Request, Row};
use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The most one buffer may take, bytes: longer ones are moved in pieces.
const LARGEST: usize = 1 << 20;
/// Datagrams that mark the end, and the time between them: the first may be lost.
const ENDS: usize = 3;
const BETWEEN_ENDS_NS: u64 = 150_000_000;

/// What bounds a transfer.
pub(super) struct Bounds<'a> {
    /// How long nothing may move.
    pub idle: Duration,
    /// When it has to be over, ns.
    pub until_ns: u64,
    /// The most to send, bit/s.
    pub rate: Option<u64>,
    /// Readable when it is to stop.
    pub stop: BorrowedFd<'a>,
}

impl Bounds<'_> {
    /// Waits until `fd` can be read.
    fn await_readable(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let left =
            Duration::from_nanos(self.until_ns.saturating_sub(monotonic_ns())).min(self.idle);
        let ready = poll_readable(&[fd, self.stop], Some(left))?;
        if ready.first().copied().unwrap_or(false) {
            return Ok(());
        }
        Err(match ready.get(1) {
            Some(true) => io::Error::new(io::ErrorKind::Interrupted, "stopped"),
            _ => io::Error::new(
                io::ErrorKind::TimedOut,
                format!("nothing came for {} s", left.as_secs()),
            ),
        })
    }

    fn is_over(&self) -> bool {
        monotonic_ns() >= self.until_ns
            || poll_readable(&[self.stop], Some(Duration::ZERO))
                .is_ok_and(|ready| ready.contains(&true))
    }
}

struct Clock {
    cpu: CpuClock,
    cpu_then: Duration,
    began: u64,
}

impl Clock {
    fn start() -> Self {
        let cpu = CpuClock::of_this_thread();
        Self {
            cpu,
            cpu_then: cpu.read().unwrap_or_default(),
            began: monotonic_ns(),
        }
    }

    fn stop(&self, request: &Request, bytes: u64, calls: u64) -> Row {
        let cpu = self
            .cpu
            .read()
            .unwrap_or_default()
            .saturating_sub(self.cpu_then);
        Row {
            length: request.length,
            count: request.count,
            bytes,
            calls,
            real_s: (monotonic_ns() - self.began) as f64 / 1e9,
            cpu_s: cpu.as_secs_f64(),
        }
    }
}

/// The pause before the next write: the gap asked for, and what the rate allows.
struct Pause {
    gap_ns: u64,
    last_ns: u64,
    schedule: Option<ByteSchedule>,
}

impl Pause {
    fn new(request: &Request, bounds: &Bounds<'_>) -> Self {
        let now = monotonic_ns();
        Self {
            gap_ns: u64::from(request.gap_us) * 1000,
            last_ns: now,
            schedule: bounds
                .rate
                .map(|rate| ByteSchedule::new(now, BitRate::from_bps(rate))),
        }
    }

    fn pass(&mut self, sent: u64, next: u64, bounds: &Bounds<'_>) -> bool {
        let mut until = if self.gap_ns > 0 && sent > 0 {
            self.last_ns + self.gap_ns
        } else {
            0
        };
        let now = monotonic_ns();
        if let Some(schedule) = &self.schedule {
            until = until.max(now + schedule.wait(now, sent, next).as_nanos() as u64);
        }
        while monotonic_ns() < until {
            if bounds.is_over() {
                return false;
            }
            sleep_until(until.min(monotonic_ns() + 100_000_000));
        }
        self.last_ns = monotonic_ns();
        true
    }
}

pub(super) fn prepare_tcp(stream: &TcpStream, request: &Request) {
    if let Some(kilobytes) = request.window_kb {
        let bytes = kilobytes as usize * 1024;
        let _ = buffers::set_send_buffer(stream, bytes, false);
        let _ = buffers::set_receive_buffer(stream, bytes, false);
    }
    if request.no_delay {
        let _ = stream.set_nodelay(true);
    }
}

/// Writes everything; the clock stops when the last write is done.
pub(super) fn send_tcp(
    stream: &TcpStream,
    request: &Request,
    bounds: &Bounds<'_>,
) -> io::Result<Row> {
    let length = (request.length as usize).min(LARGEST);
    let block = vec![b'n'; length];
    let all = request.bytes();
    let mut pause = Pause::new(request, bounds);
    // A peer that does not read is noticed.
    stream.set_write_timeout(Some(bounds.idle))?;
    let clock = Clock::start();
    let (mut sent, mut calls) = (0_u64, 0_u64);
    while sent < all {
        let size = (all - sent).min(length as u64) as usize;
        if !pause.pass(sent, size as u64, bounds) || calls.is_multiple_of(256) && bounds.is_over() {
            break;
        }
        let mut at = 0;
        while at < size {
            match kernel::send_some(stream, &block[at..size]) {
                Ok(count) => at += count,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        calls += 1;
        sent += size as u64;
    }
    let row = clock.stop(request, sent, calls);
    stream.shutdown(Shutdown::Write)?;
    Ok(row)
}

/// Reads to the end, which is a call too.
pub(super) fn receive_tcp(
    stream: &TcpStream,
    request: &Request,
    bounds: &Bounds<'_>,
) -> io::Result<Row> {
    let mut buffer = vec![0; (request.length as usize).min(LARGEST)];
    stream.set_read_timeout(Some(bounds.idle))?;
    let clock = Clock::start();
    let (mut received, mut calls) = (0_u64, 0_u64);
    loop {
        calls += 1;
        match kernel::receive_some(stream, &mut buffer) {
            Ok(0) => return Ok(clock.stop(request, received, calls)),
            Ok(count) => received += count as u64,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
        if calls.is_multiple_of(256) && bounds.is_over() {
            return Ok(clock.stop(request, received, calls));
        }
    }
}

/// Sends every datagram, between a mark for the beginning and marks for the end.
pub(super) fn send_udp(
    socket: &UdpSocket,
    request: &Request,
    bounds: &Bounds<'_>,
) -> io::Result<Row> {
    let length = (request.length as usize).clamp(MARK + 1, MAX_DATAGRAM as usize);
    let all = request.bytes();
    let gso = GsoSender::new(socket);
    let together = if request.gap_us > 0 || bounds.rate.is_some() {
        1
    } else {
        gso.max_datagrams(length)
    };
    let block = vec![b'n'; length * together];
    let mark = [0; MARK];
    let mut pause = Pause::new(request, bounds);
    let clock = Clock::start();
    say(socket, &mark);
    let (mut sent, mut calls) = (0_u64, 0_u64);
    let mut refused = 0;
    while sent < all {
        let mut size = (all - sent).min(block.len() as u64) as usize;
        // A datagram as short as a mark would be taken for one.
        let rest = size % length;
        if rest > 0 && rest <= MARK {
            size += MARK + 1 - rest;
        }
        let size = size.min(block.len());
        if !pause.pass(sent, size as u64, bounds) || bounds.is_over() {
            break;
        }
        match gso.send_segments(socket, &block[..size], length as u16) {
            Ok(_) => refused = 0,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) if cause.kind() == io::ErrorKind::ConnectionRefused && refused < 20 => {
                refused += 1;
                continue;
            }
            Err(cause) if matches!(cause.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN)) => {
                sleep_until(monotonic_ns() + 100_000);
                continue;
            }
            Err(cause) => return Err(cause),
        }
        sent += size as u64;
        calls += size.div_ceil(length) as u64;
    }
    // The marks count as calls, and the time stops before them.
    let row = clock.stop(request, sent, calls + ENDS as u64);
    for nth in 0..ENDS {
        if nth > 0 {
            sleep_until(monotonic_ns() + BETWEEN_ENDS_NS);
        }
        say(socket, &mark);
    }
    Ok(row)
}

fn say(socket: &UdpSocket, mark: &[u8]) {
    for _ in 0..3 {
        // An earlier datagram that came back as refused is told here: the next try says it.
        if caudal_sys::udp::send_segments(socket, mark, mark.len() as u16).is_ok() {
            return;
        }
    }
}

/// Receives from the mark for the beginning to the first mark for the end.
pub(super) fn receive_udp(
    socket: &UdpSocket,
    from: std::net::IpAddr,
    request: &Request,
    bounds: &Bounds<'_>,
) -> io::Result<Row> {
    let mut inbox = GroReceiver::new(16)?;
    let mut clock = Clock::start();
    let (mut received, mut calls, mut began) = (0_u64, 0_u64, None);
    loop {
        if let Err(cause) = bounds.await_readable(socket.as_fd()) {
            // All marks of the end may be lost: what came counts.
            return if received > 0 && cause.kind() == io::ErrorKind::TimedOut {
                Ok(clock.stop(request, received, calls))
            } else {
                Err(cause)
            };
        }
        match inbox.receive(socket, Wait::Never) {
            Ok(_) => {}
            Err(cause) if no_datagram(&cause) => {
                continue;
            }
            Err(cause) => return Err(cause),
        }
        for message in inbox.messages() {
            if message
                .source
                .is_some_and(|source| source.ip().to_canonical() != from)
            {
                continue;
            }
            let arrived = message.kernel_time_ns.unwrap_or_else(realtime_ns);
            for datagram in message.datagrams() {
                if datagram.len() > MARK {
                    received += datagram.len() as u64;
                    calls += 1;
                } else if let (Some(began), true) = (began, received > 0) {
                    // The marks are timed by when they arrived, not by when they were read.
                    let took = arrived.saturating_sub(began) as f64 / 1e9;
                    return Ok(Row {
                        real_s: took,
                        ..clock.stop(request, received, calls + 1)
                    });
                } else {
                    began = Some(arrived);
                    clock = Clock::start();
                    calls = 0;
                }
            }
        }
        if bounds.is_over() {
            return Ok(clock.stop(request, received, calls));
        }
    }
}
