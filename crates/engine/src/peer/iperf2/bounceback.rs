//! Requests and replies over one connection, for response times (2.1 and later): both ends.

use super::wall_clock::wall_clock;
use crate::flow::{FlowContext, FlowTask, TaskOutcome};
use caudal_core::transit::TransitTimes;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::tcp;
use caudal_wire::iperf2::{BOUNCEBACK_BYTES, Bounceback, fill_pattern};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The maximum time for which a reply is held back, µs.
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
pub(super) fn request_task(test: BouncebackTest, time: Option<Duration>) -> FlowTask {
    Box::new(move |flow| match flow.socket.tcp() {
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
            stream.read_exact(&mut reply)?;
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

/// The task of a flow that sends requests back, of the first of which `read` has been read.
pub(super) fn bounce_task(read: Vec<u8>) -> FlowTask {
    Box::new(move |flow| match flow.socket.tcp() {
        Some(stream) => TaskOutcome::from_result(bounce(stream, read, flow)),
        None => TaskOutcome::default(),
    })
}

fn bounce(mut stream: &TcpStream, mut request: Vec<u8>, flow: &FlowContext) -> io::Result<()> {
    let _ = stream.set_nodelay(true);
    let (mut bytes, mut calls) = (0, 0);
    loop {
        let before = request.len();
        request.resize(BOUNCEBACK_BYTES.max(before), 0);
        if let Err(cause) = stream.read_exact(&mut request[before..]) {
            return match cause.kind() {
                io::ErrorKind::UnexpectedEof => Ok(()),
                _ if flow.signals.is_stopped() => Ok(()),
                _ => Err(cause),
            };
        }
        let Some(header) = Bounceback::decode(&request) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a request of a size that is not served (64 B to 1 MiB)",
            ));
        };
        let received = wall_clock();
        request.resize(header.size as usize, 0);
        stream.read_exact(&mut request[BOUNCEBACK_BYTES..])?;
        if header.hold_us > 0 {
            let hold_us = header.hold_us.min(MAX_HOLD_US);
            sleep_until(monotonic_ns() + u64::from(hold_us) * 1000);
        }
        if header.stop {
            return Ok(());
        }
        request.resize(header.reply as usize, 0);
        Bounceback::stamp(&mut request, received, wall_clock());
        if header.quick_ack {
            let _ = tcp::set_quickack(stream, true);
        }
        stream.write_all(&request)?;
        bytes += u64::from(header.size) + u64::from(header.reply);
        calls += 2;
        flow.counters.bytes.store(bytes, Relaxed);
        flow.counters.calls.store(calls, Relaxed);
        request.clear();
    }
}
