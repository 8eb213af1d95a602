//! Requests and replies over one connection, for response times (2.1 and later): both ends.

use super::wall_clock::wall_clock;
use caudal_core::transit::TransitTimes;
use caudal_flow::{FlowContext, FlowWork, TaskOutcome};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::tcp;
use caudal_wire::iperf2::{BOUNCEBACK_BYTES, Bounceback, fill_pattern};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Maximum time for which a reply is held back, µs.
const MAX_HOLD_US: u32 = 1_000_000;
/// The time after which a client that waits for its next period looks whether it is stopped, ns.
const STOP_CHECK_NS: u64 = 20_000_000;

/// A test of response times, as a client asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BouncebackTest {
    /// Bytes in a request, its header included.
    pub request_bytes: u32,
    /// Bytes in a reply; another number than in a request takes a server since 2.2.
    pub reply_bytes: u32,
    /// Requests in a period, each sent when the one before was answered.
    pub per_period: u32,
    /// The time between the beginnings of two periods; zero for one after another.
    pub period: Duration,
    /// The time the server is to hold a reply back.
    pub hold: Duration,
    /// `true` when the server is not to delay its acknowledgements.
    pub quick_ack: bool,
}

/// The task of the flow of a client that sends requests for `time`, or until it is stopped.
pub(super) fn request_task(test: BouncebackTest, time: Option<Duration>) -> FlowWork {
    let bytes = test.request_bytes as usize + test.reply_bytes as usize;
    FlowWork::new(bytes, move |flow| match flow.socket.tcp() {
        Some(stream) => {
            flow.gate.wait(&flow.signals);
            let result = send_requests(stream, &test, time, flow);
            flow.counters.set_ended(monotonic_ns());
            let _ = tcp::shutdown_write(stream);
            match result {
                Err(_) if flow.signals.is_stopped() => TaskOutcome::default(),
                result => TaskOutcome::from_result(result),
            }
        }
        None => TaskOutcome::default(),
    })
}

fn send_requests(
    mut stream: &TcpStream,
    test: &BouncebackTest,
    time: Option<Duration>,
    flow: &FlowContext,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = vec![0; test.request_bytes as usize];
    fill_pattern(&mut request);
    let mut reply = vec![0; test.reply_bytes as usize];
    let mut times = TransitTimes::default();
    let start_ns = monotonic_ns();
    let end_ns = time.map(|time| start_ns + time.as_nanos() as u64);
    let is_over =
        || flow.signals.is_stopped() || end_ns.is_some_and(|end_ns| monotonic_ns() >= end_ns);
    for period in 0_u64.. {
        let due_ns = start_ns + period * test.period.as_nanos() as u64;
        while monotonic_ns() < due_ns && !is_over() {
            sleep_until(due_ns.min(monotonic_ns() + STOP_CHECK_NS));
        }
        for _ in 0..test.per_period {
            if is_over() {
                return Ok(());
            }
            header(test, period as u32 + 1).write(&mut request, wall_clock());
            let sent_ns = monotonic_ns();
            stream.write_all(&request)?;
            stream.read_exact(&mut reply).map_err(in_words)?;
            let now_ns = monotonic_ns();
            times.push((now_ns - sent_ns) as f64 / 1e9);
            let counters = &flow.counters;
            counters.transit.store(&times, (now_ns - sent_ns) as i64);
            counters.calls.store(2 * times.count, Relaxed);
            counters.last_ns.store(now_ns, Relaxed);
            let both = u64::from(test.request_bytes) + u64::from(test.reply_bytes);
            counters.bytes.store(times.count * both, Relaxed);
        }
    }
    Ok(())
}

/// The error of a reply that did not arrive whole.
fn in_words(cause: io::Error) -> io::Error {
    match cause.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(cause.kind(), "it closed the connection in place of a reply")
        }
        _ => cause,
    }
}

fn header(test: &BouncebackTest, id: u32) -> Bounceback {
    Bounceback {
        size: test.request_bytes,
        id,
        quick_ack: test.quick_ack,
        stop: false,
        hold_us: u32::try_from(test.hold.as_micros()).unwrap_or(u32::MAX),
        reply: test.reply_bytes,
        run: 0,
    }
}

/// The size of the pieces in which requests are read and replies are sent, bytes.
const PIECE_BYTES: usize = 64 << 10;

/// The task of a flow that sends requests back, of the first of which `read` has been read.
pub(super) fn bounce_task(read: Vec<u8>) -> FlowWork {
    FlowWork::new(PIECE_BYTES, move |flow| match flow.socket.tcp() {
        Some(stream) => TaskOutcome::from_result(bounce(stream, &read, flow)),
        None => TaskOutcome::default(),
    })
}

fn bounce(stream: &TcpStream, read: &[u8], flow: &FlowContext) -> io::Result<()> {
    let _ = stream.set_nodelay(true);
    let mut piece = vec![0; PIECE_BYTES];
    // What was read of the first request precedes what arrives.
    let (first, _) = read.split_at(read.len().min(BOUNCEBACK_BYTES));
    let mut arriving = first.chain(stream);
    let (mut bytes, mut calls) = (0, 0);
    let mut header_bytes = [0; BOUNCEBACK_BYTES];
    while !is_over(arriving.read_exact(&mut header_bytes), flow)? {
        let Some(header) = Bounceback::decode(&header_bytes) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a request of a size that is not served (64 B to 1 MiB)",
            ));
        };
        let received = wall_clock();
        read_rest(stream, &header, &mut piece, flow)?;
        if header.hold_us > 0 {
            let hold_us = header.hold_us.min(MAX_HOLD_US);
            sleep_until(monotonic_ns() + u64::from(hold_us) * 1000);
        }
        if header.stop {
            return Ok(());
        }
        Bounceback::stamp(&mut header_bytes, received, wall_clock());
        if header.quick_ack {
            let _ = tcp::set_quickack(stream, true);
        }
        if let Some(front) = piece.first_chunk_mut() {
            *front = header_bytes;
        }
        write_reply(stream, header.reply as usize, &piece)?;
        bytes += u64::from(header.size) + u64::from(header.reply);
        calls += 2;
        flow.counters.bytes.store(bytes, Relaxed);
        flow.counters.calls.store(calls, Relaxed);
        if let Some(limit) = flow.amount_limit() {
            limit
                .room_to_send()
                .map_err(io::Error::other)
                .inspect(|_| limit.add_sent(u64::from(header.reply)))?;
        }
    }
    Ok(())
}

/// `true` when the connection was ended by either side before a request.
fn is_over(read: io::Result<()>, flow: &FlowContext) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(false),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
        Err(_) if flow.signals.is_stopped() => Ok(true),
        Err(cause) => Err(cause),
    }
}

/// Reads what follows the header of a request into `piece`, within the limits of the server.
fn read_rest(
    mut stream: &TcpStream,
    header: &Bounceback,
    piece: &mut [u8],
    flow: &FlowContext,
) -> io::Result<()> {
    let limit = flow.amount_limit();
    let take = |bytes: usize| match limit {
        Some(limit) if !limit.wait_to_read(&flow.signals) => {
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        Some(limit) => limit
            .take_stream(bytes as u64, monotonic_ns())
            .map_err(io::Error::other),
        None => Ok(()),
    };
    take(BOUNCEBACK_BYTES)?;
    let mut left = (header.size as usize).saturating_sub(BOUNCEBACK_BYTES);
    while left > 0 {
        let room = left.min(piece.len());
        let room = limit.map_or(room, |limit| limit.max_read(room));
        let (room, _) = piece.split_at_mut(room);
        stream.read_exact(room)?;
        take(room.len())?;
        left -= room.len();
    }
    Ok(())
}

/// Sends a reply of `length` bytes that begins with the header at the front of `piece`.
fn write_reply(mut stream: &TcpStream, length: usize, piece: &[u8]) -> io::Result<()> {
    let (mut left, mut part) = (length, piece);
    while left > 0 {
        let (now, _) = part.split_at(left.min(part.len()));
        stream.write_all(now)?;
        left -= now.len();
        part = piece.get(BOUNCEBACK_BYTES..).unwrap_or_default();
    }
    Ok(())
}
