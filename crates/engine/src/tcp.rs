//! Bulk TCP: the loops that send and receive, with nothing in them but the system calls.

use crate::counters::{FlowCounters, Orders};
use crate::pacer::ByteSchedule;
use crate::socket::not_yet;
use caudal_core::sample::TcpSnapshot;
use caudal_core::units::BitRate;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::tcp::{self, SplicedSource, TcpInfo};
use caudal_sys::udp;
use std::fs::File;
use std::io::{self, Read};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The least a receiver asks the kernel for in one call, bytes.
const RECEIVE_BLOCK: usize = 128 << 10;
/// The most a receiver that discards asks the kernel to drop in one call, bytes.
const DISCARD_BLOCK: usize = 4 << 20;
/// The most a receiver that copies asks the kernel for in one call, bytes.
const LARGEST_RECEIVE: usize = 1 << 20;
/// A rate kept in user space hands over at most this much time's worth at once, ns.
const PACED_SLICE_NS: u64 = 2_000_000;
/// How much longer a sender that is told to end waits for what it has sent to arrive, ns.
const STOPPED_NS: u64 = 1_000_000_000;
/// How long a sleep may be before orders are looked at again, ns.
const LONGEST_SLEEP_NS: u64 = 50_000_000;

/// Bytes a direction still has to move, shared by its flows.
#[derive(Debug)]
pub struct Budget(AtomicU64);

impl Budget {
    /// A budget of this many bytes; `None` for no end.
    #[must_use]
    pub fn new(bytes: Option<u64>) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(bytes.unwrap_or(u64::MAX))))
    }

    /// Takes up to `wanted` bytes out; 0 when it is used up.
    pub fn claim(&self, wanted: u64) -> u64 {
        if self.0.load(Relaxed) == u64::MAX {
            return wanted;
        }
        let mut claimed = 0;
        let _ = self.0.fetch_update(Relaxed, Relaxed, |left| {
            claimed = left.min(wanted);
            Some(left - claimed)
        });
        claimed
    }
}

impl Budget {
    /// Puts back what was claimed and not used.
    pub fn give_back(&self, unused: u64) {
        let _ = self.0.fetch_update(Relaxed, Relaxed, |left| {
            (left != u64::MAX).then(|| left + unused)
        });
    }
}

/// Where a sender's payload comes from.
#[derive(Debug)]
pub enum Payload {
    /// The same block over and over, shared by the flows of a test.
    Block(Arc<Vec<u8>>),
    /// The same pages over and over, handed over without a copy.
    Pages(SplicedSource),
    /// A regular file, handed over by the kernel.
    File {
        /// The file.
        file: File,
        /// How far it has been sent.
        offset: u64,
    },
    /// Anything that can only be read, such as a pipe.
    Stream {
        /// The source.
        source: File,
        /// Room for one block.
        buffer: Vec<u8>,
    },
}

/// How a sender's rate is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Payload bits per second.
    pub rate: BitRate,
    /// Blocks handed over together at least; 1 for what the rate allows.
    pub burst: u32,
}

/// How much a sender that keeps a rate hands over at once: 2 ms worth; at low rates a segment, or what
/// 20 ms are worth, so that the first of it does not wait for seconds.
fn paced_block(rate: BitRate, length: usize) -> usize {
    let worth = |ns: u64| {
        let bytes = u128::from(rate.bps()) * u128::from(ns) / 8_000_000_000;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    };
    let least = worth(10 * PACED_SLICE_NS).clamp(64, 1448);
    worth(PACED_SLICE_NS).max(least).min(length)
}

/// Sends until the budget or the payload is used up, or orders say stop.
///
/// # Errors
/// What the kernel said, unless the flow had been told to stop.
pub fn send(
    stream: &TcpStream,
    mut payload: Payload,
    length: usize,
    pace: Option<Pace>,
    budget: &Budget,
    counters: &FlowCounters,
    orders: &Orders,
) -> io::Result<()> {
    let fd = stream.as_fd();
    let start_ns = monotonic_ns();
    let schedule = pace.map(|pace| ByteSchedule::new(start_ns, pace.rate));
    let most = match pace {
        Some(Pace { rate, burst: 0 | 1 }) => paced_block(rate, length),
        _ => length,
    };
    let together = pace.map_or(1, |pace| u64::from(pace.burst.max(1)));
    let mut sent: u64 = 0;
    let mut calls: u64 = 0;
    let mut nth: u64 = 0;
    'blocks: while !orders.stopped() {
        let mut left = budget.claim(most as u64) as usize;
        if left == 0 {
            break;
        }
        // Only the first block of a burst waits for its turn.
        let waits = nth.is_multiple_of(together);
        nth += 1;
        if let (Some(schedule), true) = (&schedule, waits) {
            loop {
                let now = monotonic_ns();
                let wait = schedule.wait(now, sent, left as u64).as_nanos() as u64;
                if wait == 0 {
                    break;
                }
                sleep_until(now + wait.min(LONGEST_SLEEP_NS));
                if orders.stopped() {
                    break 'blocks;
                }
            }
        }
        let mut at = 0;
        while left > 0 {
            let outcome = match &mut payload {
                Payload::Block(block) => tcp::send_some(fd, &block[at..at + left]),
                Payload::Pages(pages) => pages.send_some(fd, left),
                Payload::File { file, offset } => {
                    tcp::send_file_some(fd, file.as_fd(), offset, left)
                }
                Payload::Stream { source, buffer } => {
                    if at == 0 {
                        let room = left.min(buffer.len());
                        match source.read(&mut buffer[..room]) {
                            Ok(0) => break 'blocks,
                            Ok(count) => {
                                // A pipe gives what it has: the rest is for the next read.
                                budget.give_back((left - count) as u64);
                                left = count;
                            }
                            Err(cause) if not_yet(&cause) => continue,
                            Err(cause) => return Err(cause),
                        }
                    }
                    tcp::send_some(fd, &buffer[at..at + left])
                }
            };
            calls += 1;
            match outcome {
                // The end of a file.
                Ok(0) => break 'blocks,
                Ok(count) => {
                    left -= count.min(left);
                    at += count;
                    sent += count as u64;
                    counters.bytes.store(sent, Relaxed);
                    counters.calls.store(calls, Relaxed);
                }
                Err(_) if orders.stopped() => break 'blocks,
                Err(cause) if not_yet(&cause) => {}
                Err(cause) => return Err(cause),
            }
            if left > 0 && orders.stopped() {
                break 'blocks;
            }
        }
    }
    counters.last_ns.store(monotonic_ns(), Relaxed);
    Ok(())
}

/// When a fast receiver is woken: with a quarter of a megabyte to read rather than with every segment,
/// which saves both ends much of the waking (on loopback a third more goodput under cubic, half more
/// under bbr).
///
/// At 2 Gbit/s and more that much comes in within 1 ms; a timeout of 10 ms bounds what a sudden stop
/// of the flow can leave unread. A receiver that discards gains nothing: it is woken as ever, and what
/// it frees early the sender need not free.
#[derive(Debug)]
struct Waking {
    allowed: bool,
    late: bool,
    since_ns: u64,
    received: u64,
}

impl Waking {
    const FAST_BYTES_PER_S: f64 = 2e9 / 8.0;
    const LOW_WATER: u32 = 256 << 10;
    const LOOK_NS: u64 = 10_000_000;
    const PATIENCE: Duration = Duration::from_millis(10);

    const fn new(allowed: bool) -> Self {
        Self {
            allowed,
            late: false,
            since_ns: 0,
            received: 0,
        }
    }

    fn adapt(&mut self, socket: BorrowedFd<'_>, now_ns: u64, received: u64) {
        if !self.allowed || now_ns < self.since_ns + Self::LOOK_NS {
            return;
        }
        let elapsed_s = (now_ns - self.since_ns) as f64 / 1e9;
        let fast = (received - self.received) as f64 / elapsed_s >= Self::FAST_BYTES_PER_S;
        let is_first = self.since_ns == 0;
        (self.since_ns, self.received) = (now_ns, received);
        if fast != self.late && !is_first {
            let (bytes, timeout) = if fast {
                (Self::LOW_WATER, Some(Self::PATIENCE))
            } else {
                (1, None)
            };
            // A kernel that will not is read as before.
            let set = udp::set_receive_timeout(socket, timeout)
                .and_then(|()| tcp::set_receive_low_water(socket, bytes));
            self.late = fast;
            self.allowed = set.is_ok();
        }
    }
}

/// Receives until the other end has finished or orders say stop; `wake_late` lets a fast flow's reader
/// be woken less often.
///
/// # Errors
/// What the kernel said, unless the flow had been told to stop.
pub fn receive(
    stream: &TcpStream,
    length: usize,
    discard: bool,
    wake_late: bool,
    counters: &FlowCounters,
    orders: &Orders,
) -> io::Result<()> {
    let fd = stream.as_fd();
    let room = if discard {
        0
    } else {
        length.clamp(RECEIVE_BLOCK, LARGEST_RECEIVE)
    };
    let mut buffer = vec![0; room];
    let mut waking = Waking::new(wake_late && !discard);
    let mut received: u64 = 0;
    let mut calls: u64 = 0;
    loop {
        let outcome = if discard {
            tcp::discard_some(fd, DISCARD_BLOCK)
        } else {
            tcp::receive_some(fd, &mut buffer)
        };
        calls += 1;
        match outcome {
            Ok(0) => return Ok(()),
            Ok(count) => {
                let now = monotonic_ns();
                if received == 0 {
                    counters.first_ns.store(now, Relaxed);
                }
                received += count as u64;
                counters.bytes.store(received, Relaxed);
                counters.last_ns.store(now, Relaxed);
                counters.calls.store(calls, Relaxed);
                waking.adapt(fd, now, received);
            }
            Err(_) if orders.stopped() => return Ok(()),
            Err(cause) if not_yet(&cause) => {}
            Err(cause) => return Err(cause),
        }
    }
}

/// What the kernel knows of a connection, in the words of a sample; `None` when it does not say.
#[must_use]
pub fn state(stream: &TcpStream) -> Option<TcpSnapshot> {
    tcp::tcp_info(stream).ok().map(|info| translate(&info))
}

fn translate(info: &TcpInfo) -> TcpSnapshot {
    let segment = u64::from(info.snd_mss);
    let bits = |bytes: Option<u64>| bytes.map(|bytes| bytes.saturating_mul(8));
    TcpSnapshot {
        rtt_us: info.rtt_us,
        rttvar_us: info.rttvar_us,
        // The kernel answers all ones while it has no measurement.
        min_rtt_us: info.min_rtt_us.filter(|rtt| *rtt != u32::MAX),
        cwnd_bytes: u64::from(info.snd_cwnd) * segment,
        receiver_window_bytes: info.snd_wnd.map(u64::from),
        retransmits: u64::from(info.total_retrans),
        retransmitted_bytes: info.bytes_retrans,
        bytes_sent: info.bytes_sent,
        bytes_acked: info.bytes_acked,
        delivery_rate_bps: bits(info.delivery_rate),
        app_limited: info.delivery_rate_app_limited,
        busy_us: info.busy_time_us,
        receiver_window_limited_us: info.rwnd_limited_us,
        send_buffer_limited_us: info.sndbuf_limited_us,
        pacing_rate_bps: bits(info.pacing_rate.filter(|rate| *rate != u64::MAX)),
        mss: info.snd_mss,
        path_mtu: info.pmtu,
        timeouts: info.total_rto.map(u64::from),
        duplicate_sacks: info.dsack_dups.map(u64::from),
        reordering_seen: info.reord_seen.map(u64::from),
    }
}

/// How long a sender waits until the other end has acknowledged everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// This long, ns: the test's time is over, and what has not arrived is not of it.
    Bounded(u64),
    /// As long as something arrives at least every so often, ns: all of it belongs to the test.
    WhileMoving(u64),
}

/// Waits until everything that was handed over has been acknowledged; whether it has.
#[must_use]
pub fn drain(stream: &TcpStream, patience: Patience, orders: &Orders) -> bool {
    let (Patience::Bounded(most) | Patience::WhileMoving(most)) = patience;
    let mut until = monotonic_ns() + most;
    let mut least = u32::MAX;
    let mut pause = 20_000;
    loop {
        let queued = match tcp::out_queue(stream) {
            Ok(0) => return true,
            Ok(queued) => queued,
            Err(_) => return false,
        };
        let now = monotonic_ns();
        if let Patience::WhileMoving(most) = patience {
            if queued < least {
                (least, until) = (queued, now + most);
            }
            if orders.stopped() {
                until = until.min(now + STOPPED_NS);
            }
        }
        if now >= until {
            return false;
        }
        sleep_until((now + pause).min(until));
        pause = (pause * 2).min(5_000_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_given_out_to_the_last_byte_and_no_further() {
        let budget = Budget::new(Some(100_000));
        assert_eq!(budget.claim(65_536), 65_536);
        assert_eq!(budget.claim(65_536), 34_464);
        assert_eq!(budget.claim(1), 0);
        budget.give_back(464);
        assert_eq!(budget.claim(1000), 464);
        let endless = Budget::new(None);
        endless.give_back(1);
        assert_eq!(endless.claim(7), 7);
    }

    #[test]
    fn a_slow_rate_is_kept_in_small_pieces_and_a_fast_one_in_whole_blocks() {
        let block = |bps| paced_block(BitRate::from_bps(bps), 131_072);
        assert_eq!(
            [8_000, 100_000, 1_000_000, 100_000_000].map(block),
            [64, 250, 1448, 25_000]
        );
        assert_eq!(block(10_000_000_000), 131_072);
        assert_eq!(paced_block(BitRate::from_bps(1_000_000), 100), 100);
    }
}
