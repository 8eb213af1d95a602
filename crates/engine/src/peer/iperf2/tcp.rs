//! TCP as iperf 2 carries it: our loops, and around them its header, its end and its trip times.

use super::leg::Work;
use crate::pacer::ByteSchedule;
use crate::socket::not_yet;
use crate::tcp::{self, Budget, Pace, Payload};
use caudal_core::units::BitRate;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::tcp as kernel;
use caudal_wire::iperf2::fill_pattern;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// How long a sender waits for the other end's close after its own.
const CLOSING: Duration = Duration::from_secs(10);
/// Bytes at the head of every write when trip times are measured.
const BURST: usize = 92;

/// What a sender is to send.
pub(super) struct Sending {
    pub payload: Payload,
    pub length: usize,
    pub rate: Option<u64>,
    pub bytes: Option<u64>,
    /// Whether every write begins with a stamp.
    pub bursts: bool,
    /// Whether nobody else reads this connection, so that the sender waits for its end.
    pub alone: bool,
}

/// The block that is sent over and over.
pub(super) fn block(length: usize) -> Payload {
    let mut block = vec![0; length.max(1)];
    fill_pattern(&mut block);
    Payload::Block(Arc::new(block))
}

/// Sends, half-closes, and waits for the other end's close.
pub(super) fn send(stream: &TcpStream, what: Sending, work: &Work) -> io::Result<()> {
    let pace = what.rate.filter(|rate| *rate > 0).map(|rate| Pace {
        rate: BitRate::from_bps(rate),
        burst: 1,
    });
    if let Some(pace) = pace {
        let bytes = pace.rate.bps() / 8;
        let _ = kernel::set_pacing_rate(stream, bytes + bytes / 50 + 1);
    }
    let budget = Budget::new(what.bytes);
    let outcome = if what.bursts {
        send_bursts(stream, &what, &budget, work)
    } else {
        tcp::send(
            stream,
            what.payload,
            what.length,
            pace,
            &budget,
            &work.counters,
            &work.orders,
        )
    };
    let _ = kernel::shutdown_write(stream);
    let outcome = match outcome {
        // The other end may close when it has what it asked for.
        Err(cause)
            if matches!(
                cause.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            ) && work.counters.bytes.load(Relaxed) > 0 =>
        {
            Ok(())
        }
        other => other,
    };
    if what.alone {
        await_close(stream);
    }
    outcome
}

/// Reads and forgets until the other end has closed, so that what was sent has arrived.
pub(super) fn await_close(stream: &TcpStream) {
    let mut nothing = [0; 4096];
    let until = monotonic_ns() + CLOSING.as_nanos() as u64;
    let mut stream = stream;
    let _ = stream.set_read_timeout(Some(Duration::from_millis(500)));
    while monotonic_ns() < until {
        match stream.read(&mut nothing) {
            Ok(0) => return,
            Ok(_) => {}
            Err(cause)
                if matches!(
                    cause.kind(),
                    io::ErrorKind::WouldBlock
                        | io::ErrorKind::Interrupted
                        | io::ErrorKind::TimedOut
                ) =>
            {
                // What is still queued here may take long; what has been acknowledged needs no waiting.
                if kernel::out_queue(stream).is_ok_and(|queued| queued == 0)
                    && until - monotonic_ns() < CLOSING.as_nanos() as u64 - 2_000_000_000
                {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}

/// Every write is one burst: a stamp, then payload (2.1's trip times).
fn send_bursts(stream: &TcpStream, what: &Sending, budget: &Budget, work: &Work) -> io::Result<()> {
    let length = what.length.max(BURST);
    let mut block = vec![0; length];
    fill_pattern(&mut block);
    let schedule = what
        .rate
        .filter(|rate| *rate > 0)
        .map(|rate| ByteSchedule::new(monotonic_ns(), BitRate::from_bps(rate)));
    let start = super::wall();
    let (mut sent, mut calls, mut id) = (0_u64, 0_u64, 1_u32);
    let mut stream = stream;
    while !work.orders.stopped() {
        let claimed = budget.claim(length as u64) as usize;
        if claimed == 0 {
            break;
        }
        let size = claimed.max(BURST);
        if let Some(schedule) = &schedule {
            let now = monotonic_ns();
            let wait = schedule.wait(now, sent, size as u64).as_nanos() as u64;
            let until = now + wait;
            while monotonic_ns() < until && !work.orders.stopped() {
                sleep_until(until.min(monotonic_ns() + 50_000_000));
            }
            if work.orders.stopped() {
                break;
            }
        }
        let now = super::wall();
        block[..BURST].fill(0);
        for (at, value) in [
            (4, 3),
            (8, BURST as u32),
            (12, start.0),
            (16, start.1),
            (20, now.0),
            (24, now.1),
            (44, id),
            (48, size as u32),
            (52, id),
        ] {
            block[at..at + 4].copy_from_slice(&value.to_be_bytes());
        }
        match stream.write_all(&block[..size]) {
            Ok(()) => {}
            Err(_) if work.orders.stopped() => break,
            Err(cause) => return Err(cause),
        }
        sent += size as u64;
        calls += 1;
        id = id.wrapping_add(1);
        work.counters.bytes.store(sent, Relaxed);
        work.counters.calls.store(calls, Relaxed);
    }
    Ok(())
}

/// Receives until the other end has closed; `distribution` counts reads by their size.
pub(super) fn receive(
    stream: &TcpStream,
    length: usize,
    distribution: bool,
    discard: bool,
    work: &Work,
) -> io::Result<()> {
    if !distribution {
        let outcome = tcp::receive(stream, length, discard, true, &work.counters, &work.orders);
        return gone(outcome, work);
    }
    let mut buffer = vec![0; length.clamp(64, 1 << 20)];
    let (mut received, mut calls) = (0_u64, 0_u64);
    loop {
        match kernel::receive_some(stream, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                received += count as u64;
                calls += 1;
                let now = monotonic_ns();
                work.counters.bytes.store(received, Relaxed);
                work.counters.calls.store(calls, Relaxed);
                work.counters.last_ns.store(now, Relaxed);
                let bin = (count.saturating_sub(1) * 8 / buffer.len()).min(7);
                work.notes
                    .reads
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)[bin] += 1;
            }
            Err(cause) if not_yet(&cause) => {
                if work.orders.stopped() {
                    return Ok(());
                }
            }
            Err(cause) => return gone(Err(cause), work),
        }
    }
}

fn gone(outcome: io::Result<()>, work: &Work) -> io::Result<()> {
    match outcome {
        Err(_) if work.orders.stopped() => Ok(()),
        other => other,
    }
}
