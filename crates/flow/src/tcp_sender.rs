//! The sending end of a TCP flow.

use super::budget::ByteBudget;
use super::payload::{NextBlock, Payload};
use super::peer_close::{PeerClose, await_close};
use super::signals::FlowSignals;
use super::tcp_state::tcp_state;
use super::thread::{FlowContext, FlowWork, TaskOutcome};
use super::write_pacer::{WritePace, WritePacer, paced_block};
use crate::socket::is_retryable;
use caudal_core::sample::TcpSnapshot;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::tcp as kernel;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Maximum wait for the last acknowledgement after the end of a test, ns.
const DRAIN_NS: u64 = 1_000_000_000;
/// Maximum time without progress of a test that ends by bytes, ns.
const STALLED_NS: u64 = 10_000_000_000;
/// Maximum further wait of a stopped sender for acknowledgements, ns.
const STOPPED_NS: u64 = 1_000_000_000;
/// Minimum time before the end of a flow for a close of the other end to be early, ns: its clock may run a little ahead.
const MIN_EARLY_NS: u64 = 250_000_000;
/// The same for long tests, as a share of the flow's time.
const EARLY_PART: u64 = 20;
/// Maximum sleep between two checks of the signals, ns.
const MAX_SLEEP_NS: u64 = 10_000_000;
/// Queue occupied by the FIN, whose acknowledgement may be delayed, bytes.
const FIN_BYTES: u32 = 1;
/// State of a closed connection in `tcp_info`.
const CLOSED_STATE: u8 = 7;
/// Maximum time after its end in which a sender completes its last block instead of closing within it, ns.
const MAX_FINISH_NS: u64 = 20_000_000;
/// Interval at which a sender without budget checks for more, ns.
const BUDGET_CHECK_NS: u64 = 1_000_000;

/// The way in which a protocol ends a connection on which it has sent its last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpClose {
    /// Half-close, then wait until all data has been acknowledged.
    HalfClose,
    /// Half-close where the last block was cut, then wait until all data has been acknowledged. Receivers that read whole blocks
    /// wait for the rest of that one; those of others may do nothing but look at the end of the stream again and again.
    HalfCloseCutBlock,
    /// Leave the connection open until both ends have exchanged their results.
    KeepOpen,
    /// Half-close, then wait until the other end has closed; `None` where another thread reads from the connection, to wait
    /// until all data has been acknowledged.
    AwaitClose(Option<Duration>),
}

/// The sending end of a TCP flow.
pub struct TcpSender {
    /// The source of the payload.
    pub payload: Payload,
    /// Bytes handed over in one send.
    pub length: usize,
    /// The rate to keep; `None` for as fast as possible.
    pub pace: Option<WritePace>,
    /// The bytes to send.
    pub budget: Arc<ByteBudget>,
    /// The way in which the connection is ended.
    pub close: TcpClose,
    /// `true` when the other end may close before it has received everything, or not at all.
    pub peer_may_close: bool,
    /// Bytes that were sent before the flow's thread began, such as a header; they count as payload.
    pub bytes_before: u64,
}

impl TcpSender {
    /// The task of the flow's thread.
    pub fn into_task(self) -> FlowWork {
        FlowWork::new(self.payload.own_bytes(), move |flow| {
            match flow.socket.tcp() {
                Some(stream) => self.run(stream, flow),
                None => TaskOutcome::default(),
            }
        })
    }

    fn run(mut self, stream: &TcpStream, flow: &FlowContext) -> TaskOutcome {
        flow.counters.bytes.store(self.bytes_before, Relaxed);
        flow.gate.wait(&flow.signals);
        if let Some(rate) = self.pace.and_then(WritePace::kernel_rate) {
            // The kernel spreads the segments of one send; a little above the rate, so that the pacer here sets the mean.
            let bytes = rate.bps() / 8;
            let _ = kernel::set_pacing_rate(stream, bytes + bytes / 50 + 1);
        }
        let start_ns = monotonic_ns();
        let result = self.send(stream, flow);
        flow.counters.last_ns.store(monotonic_ns(), Relaxed);
        let result = match result {
            Err(cause)
                if self.peer_may_close
                    && is_closed_by_peer(&cause)
                    && flow.counters.bytes.load(Relaxed) > 0 =>
            {
                match closes_early(start_ns, flow.signals.stops_at_ns()) {
                    true => Err(io::Error::new(
                        io::ErrorKind::ConnectionAborted,
                        "the other end closed the connection before the end of the test",
                    )),
                    false => Ok(()),
                }
            }
            result => result,
        };
        let (tcp, close) = self.end(stream, flow);
        let result = match self.peer_may_close {
            true => result,
            false => result.and_then(|()| close.into_result()),
        };
        TaskOutcome {
            tcp,
            ..TaskOutcome::from_result(result)
        }
    }

    /// Sends until the budget or the payload is used up, or the flow is stopped.
    fn send(&mut self, stream: &TcpStream, flow: &FlowContext) -> io::Result<()> {
        let (counters, signals) = (&flow.counters, &flow.signals);
        let fd = stream.as_fd();
        let start_ns = monotonic_ns();
        let mut pacer = self.pace.map(|pace| WritePacer::new(start_ns, pace));
        let max = match self.pace.and_then(WritePace::sliced_rate) {
            Some(rate) if !self.payload.has_whole_blocks() => paced_block(rate, self.length),
            _ => self.length,
        };
        let (mut sent, mut calls) = (0_u64, 0_u64);
        let limit = flow.amount_limit();
        let finishes_block = self.close == TcpClose::HalfCloseCutBlock;
        let mut finish_until_ns = None;
        while !signals.is_stopped() {
            let mut claimed = self.budget.claim(max as u64) as usize;
            if claimed == 0 {
                if self.budget.may_grow() {
                    sleep_until(monotonic_ns() + BUDGET_CHECK_NS);
                    continue;
                }
                break;
            }
            if let Some(limit) = limit {
                let room = limit.room_to_send().map_err(io::Error::other)?;
                claimed = claimed.min(usize::try_from(room).unwrap_or(usize::MAX));
            }
            if let Some(pacer) = &mut pacer
                && !wait_for_turn(pacer, sent, claimed as u64, flow)
            {
                break;
            }
            let source_ns = self.payload.is_read().then(monotonic_ns);
            let block = self.payload.prepare(claimed, &self.budget)?;
            if let Some(began_ns) = source_ns {
                let waited_ns = monotonic_ns().saturating_sub(began_ns);
                counters.source_wait_ns.fetch_add(waited_ns, Relaxed);
            }
            let mut left = match block {
                NextBlock::Ready(left) => left,
                NextBlock::Again => continue,
                NextBlock::End => break,
            };
            let mut at = 0;
            while left > 0 {
                let outcome = self.payload.send_some(fd, at, left);
                calls += 1;
                match outcome {
                    // The end of a file.
                    Ok(0) => return Ok(()),
                    Ok(count) => {
                        left -= count.min(left);
                        at += count;
                        sent += count as u64;
                        counters.bytes.store(self.bytes_before + sent, Relaxed);
                        counters.calls.store(calls, Relaxed);
                        if let Some(limit) = limit {
                            limit.add_sent(count as u64);
                        }
                    }
                    Err(_) if signals.is_stopped() && !finishes_block => return Ok(()),
                    Err(cause) if is_retryable(&cause) => {}
                    Err(_) if signals.is_stopped() => return Ok(()),
                    Err(cause) => return Err(cause),
                }
                if left > 0 && signals.is_stopped() {
                    let now_ns = monotonic_ns();
                    let until_ns = *finish_until_ns.get_or_insert(now_ns + MAX_FINISH_NS);
                    if !finishes_block || now_ns >= until_ns {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Ends the connection as the protocol does: TCP as it was before or after, whichever is complete, and what the other end
    /// did, where its close is part of the protocol.
    fn end(&self, stream: &TcpStream, flow: &FlowContext) -> (Option<TcpSnapshot>, PeerClose) {
        // The kernel may no longer report the state of a connection that has closed.
        let before = tcp_state(stream);
        let mut close = PeerClose::Closed;
        match self.close {
            TcpClose::HalfClose => {
                let _ = kernel::shutdown_write(stream);
                drain_or_reset(stream, &flow.signals);
            }
            TcpClose::HalfCloseCutBlock => {
                let sent = flow.counters.bytes.load(Relaxed) - self.bytes_before;
                if !sent.is_multiple_of(self.length as u64) {
                    let _ = kernel::shutdown_write(stream);
                }
                drain_or_reset(stream, &flow.signals);
            }
            TcpClose::KeepOpen => {}
            TcpClose::AwaitClose(patience) => {
                let _ = kernel::shutdown_write(stream);
                match patience {
                    Some(patience) => close = await_close(stream, patience),
                    // What the kernel has sent and not yet seen acknowledged would be missing from its counters.
                    None => {
                        drain(stream, drain_patience(&flow.signals), &flow.signals);
                    }
                }
            }
        }
        let is_complete =
            |state: &TcpSnapshot| state.bytes_sent >= before.and_then(|before| before.bytes_sent);
        let after = tcp_state(stream).filter(is_complete).or(before);
        // The last acknowledgements may be delayed: the round-trip time is that of the payload, not of the end.
        let tcp = after.map(|after| {
            before.map_or(after, |before| TcpSnapshot {
                rtt_us: before.rtt_us,
                rttvar_us: before.rttvar_us,
                ..after
            })
        });
        (tcp, close)
    }
}

/// Waits until the next block may be written; `false` when the flow is stopped meanwhile.
fn wait_for_turn(pacer: &mut WritePacer, sent: u64, next: u64, flow: &FlowContext) -> bool {
    let mut before = None;
    loop {
        let now = monotonic_ns();
        if let Some(before) = before.replace(now) {
            let waited_ns = now.saturating_sub(before);
            flow.counters.pace_wait_ns.fetch_add(waited_ns, Relaxed);
        }
        let wait_ns = pacer.wait_ns(now, sent, next);
        if wait_ns == 0 {
            pacer.written(now);
            return true;
        }
        sleep_until((now + wait_ns.min(MAX_SLEEP_NS)).min(flow.signals.stops_at_ns()));
        if flow.signals.is_stopped() || monotonic_ns() >= flow.signals.stops_at_ns() {
            return false;
        }
    }
}

/// `true` when the present is well before the time at which a flow that began at `start_ns` is to stop, where that is known.
fn closes_early(start_ns: u64, stops_at_ns: u64) -> bool {
    let time_ns = stops_at_ns.saturating_sub(start_ns);
    let early_ns = MIN_EARLY_NS.max(time_ns / EARLY_PART);
    stops_at_ns != u64::MAX && monotonic_ns() + early_ns < stops_at_ns
}

fn is_closed_by_peer(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}

/// The time a sender waits until the other end has acknowledged everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DrainPatience {
    /// This long, ns: the time of the test is over, and what arrives later is not part of it.
    Fixed(u64),
    /// As long as the queue shrinks at least every so often, ns: all of it is part of the test.
    WhileShrinking(u64),
}

/// Waits until all data has been acknowledged; if it is not, closing will reset the connection, which would linger for minutes
/// otherwise.
fn drain_or_reset(stream: &TcpStream, signals: &FlowSignals) {
    if !drain(stream, drain_patience(signals), signals) {
        let _ = kernel::set_zero_linger(stream);
    }
}

fn drain_patience(signals: &FlowSignals) -> DrainPatience {
    if signals.is_stopped() {
        DrainPatience::Fixed(DRAIN_NS)
    } else {
        DrainPatience::WhileShrinking(STALLED_NS)
    }
}

/// Waits until everything that was handed over to a connection has been acknowledged; `true` when it has.
fn drain(stream: &TcpStream, patience: DrainPatience, signals: &FlowSignals) -> bool {
    let (DrainPatience::Fixed(max_ns) | DrainPatience::WhileShrinking(max_ns)) = patience;
    let mut until_ns = monotonic_ns() + max_ns;
    let mut min_queued = u32::MAX;
    let mut pause_ns = 20_000;
    loop {
        let queued = match kernel::out_queue(stream) {
            Ok(0..=FIN_BYTES) => return true,
            Ok(queued) => queued,
            Err(_) => return false,
        };
        // Nothing is acknowledged any more once the other end has reset the connection.
        if kernel::tcp_info(stream).is_ok_and(|info| info.state == CLOSED_STATE) {
            return false;
        }
        let now = monotonic_ns();
        if let DrainPatience::WhileShrinking(max_ns) = patience {
            if queued < min_queued {
                (min_queued, until_ns) = (queued, now + max_ns);
            }
            if signals.is_stopped() {
                until_ns = until_ns.min(now + STOPPED_NS);
            }
        }
        if now >= until_ns {
            return false;
        }
        sleep_until((now + pause_ns).min(until_ns));
        pause_ns = (pause_ns * 2).min(1_000_000);
    }
}
