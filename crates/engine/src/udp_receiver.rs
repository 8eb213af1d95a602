//! Bulk UDP, the receiving end: an exact account of every datagram.

use crate::counters::{FlowCounters, Orders};
use crate::layout::Layout;
use crate::socket::no_datagram;
use crate::udp_sender::send_credit;
use caudal_core::delay::{DelayVariation, JitterRfc3550};
use caudal_core::plan::DatagramSizes;
use caudal_core::sample::DelaySummary;
use caudal_core::sequence::{SequenceCounts, SequenceTracker};
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::udp::{self, GroReceiver, Wait};
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Messages taken from the kernel in one call at most.
const SLOTS: usize = 16;
/// How often a receiver without arrivals looks at its orders.
const LOOK_UP: Duration = Duration::from_millis(20);
/// How long after the sender's last word a datagram may still arrive.
pub const LINGER: Duration = Duration::from_millis(300);

/// What a UDP receiver is to expect.
#[derive(Debug, Clone, Copy)]
pub struct Receiving<L> {
    /// How datagrams are numbered and stamped.
    pub layout: L,
    /// Bytes in a datagram.
    pub length: u32,
    /// The sizes of the datagrams: the last ones may be shorter.
    pub sizes: DatagramSizes,
    /// Whether to compare every payload byte.
    pub verify: bool,
    /// To whom to tell how far this end has read: the flow and the tag of the test.
    pub credit: Option<(u32, u32)>,
}

/// What a UDP receiver has found.
#[derive(Debug, Clone)]
pub struct Received {
    /// The exact account.
    pub sequence: SequenceCounts,
    /// Delay variation.
    pub delay: DelaySummary,
}

/// Receives until everything the sender says it has sent is in or has had its time, or orders say stop.
///
/// `opening` is handed every datagram that is no payload; whether it was one of the opening dialogue
/// that came in again, and not a damaged one.
///
/// # Errors
/// What the kernel said, unless the flow had been told to stop.
pub fn receive<L: Layout>(
    socket: &UdpSocket,
    what: &Receiving<L>,
    counters: &FlowCounters,
    orders: &Orders,
    mut opening: impl FnMut(&[u8]) -> bool,
) -> (Received, io::Result<()>) {
    let mut account = Account::new(*what);
    let outcome = account.run(socket, counters, orders, &mut opening);
    account.publish(counters);
    let outcome = match outcome {
        Err(_) if orders.stopped() => Ok(()),
        other => other,
    };
    (account.finish(orders.expected()), outcome)
}

struct Account<L> {
    what: Receiving<L>,
    /// A datagram as it should be, from its header's end on; empty when nothing is compared.
    expected: Vec<u8>,
    sequence: SequenceTracker,
    /// What shorter datagrams fell short of the length, bytes.
    short_by: u64,
    corrupt: u64,
    jitter: JitterRfc3550,
    variation: DelayVariation,
    credited: u64,
    window: u64,
}

impl<L: Layout> Account<L> {
    fn new(what: Receiving<L>) -> Self {
        let mut expected = vec![0; what.length as usize];
        what.layout.fill(&mut expected);
        expected.drain(..what.layout.header().min(expected.len()));
        Self {
            what,
            expected,
            sequence: SequenceTracker::new(),
            short_by: 0,
            corrupt: 0,
            jitter: JitterRfc3550::new(),
            variation: DelayVariation::new(),
            credited: 0,
            window: 0,
        }
    }

    fn run(
        &mut self,
        socket: &UdpSocket,
        counters: &FlowCounters,
        orders: &Orders,
        opening: &mut impl FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        udp::set_receive_timeout(socket, Some(LOOK_UP))?;
        let mut inbox = GroReceiver::new(SLOTS)?;
        let buffer = udp::meminfo(socket).map_or(212_992, |memory| u64::from(memory.rcvbuf));
        // Half the buffer, because the kernel charges a datagram more than its payload.
        self.window = (buffer / 2 / u64::from(self.what.length)).max(1);
        let mut calls = 0;
        let mut quiet_since = monotonic_ns();
        loop {
            match inbox.receive(socket, Wait::ForOne) {
                Ok(_) => {
                    calls += 1;
                    let now = monotonic_ns();
                    // The kernel stamps by the wall clock; its age carries over to the steady one.
                    let wall = realtime_ns();
                    quiet_since = now;
                    for message in inbox.messages() {
                        let age = message
                            .kernel_time_ns
                            .map_or(0, |at| wall.saturating_sub(at));
                        let arrived = if age < 1_000_000_000 { now - age } else { now };
                        self.take(message.data, message.segment, arrived, opening);
                    }
                    if counters.first_ns.load(Relaxed) == 0 && self.sequence.counts().received > 0 {
                        counters.first_ns.store(now, Relaxed);
                    }
                    counters.last_ns.store(now, Relaxed);
                    counters.calls.store(calls, Relaxed);
                    self.publish(counters);
                    if let Some((flow, tag)) = self.what.credit {
                        self.give_credit(socket, flow, tag);
                    }
                }
                Err(cause) if no_datagram(&cause) => {}
                Err(cause) => return Err(cause),
            }
            if orders.stopped() {
                return Ok(());
            }
            if let Some(expected) = orders.expected() {
                let counts = self.sequence.counts();
                let quiet = Duration::from_nanos(monotonic_ns().saturating_sub(quiet_since));
                if counts.received + counts.late >= expected || quiet >= LINGER {
                    return Ok(());
                }
            }
        }
    }

    /// Takes in what the kernel handed over in one piece: one datagram, or several of one length.
    fn take(
        &mut self,
        data: &[u8],
        segment: usize,
        arrived_ns: u64,
        opening: &mut impl FnMut(&[u8]) -> bool,
    ) {
        let mut run: Option<(u64, u32)> = None;
        let mut timed = false;
        for datagram in data.chunks(segment.max(1)) {
            let header_bytes = self.what.layout.header();
            let due = self.sequence.counts().highest.map_or(0, |at| at + 1);
            let stamp = self.what.layout.read(datagram, due).filter(|stamp| {
                datagram.len() == self.what.sizes.length_of(stamp.sequence) as usize
                    && (!self.what.verify || self.expected.starts_with(&datagram[header_bytes..]))
            });
            let Some(header) = stamp else {
                if !opening(datagram) {
                    self.corrupt += 1;
                }
                continue;
            };
            if !timed {
                // Datagrams that left and arrived together share one transit time.
                timed = true;
                let transit = arrived_ns.wrapping_sub(header.sent_ns) as i64;
                self.jitter.push(transit);
                self.variation.push(transit);
            }
            let missing = self.what.length as usize - datagram.len();
            if missing > 0 {
                if let Some((first, count)) = run.take() {
                    self.sequence.push_run(first, count);
                }
                let before = self.sequence.counts().received;
                self.sequence.push_run(header.sequence, 1);
                if self.sequence.counts().received > before {
                    self.short_by += missing as u64;
                }
                continue;
            }
            run = match run {
                Some((first, count))
                    if Some(header.sequence) == first.checked_add(u64::from(count)) =>
                {
                    Some((first, count + 1))
                }
                Some((first, count)) => {
                    self.sequence.push_run(first, count);
                    Some((header.sequence, 1))
                }
                None => Some((header.sequence, 1)),
            };
        }
        if let Some((first, count)) = run {
            self.sequence.push_run(first, count);
        }
    }

    fn publish(&self, counters: &FlowCounters) {
        let counts = self.sequence.counts();
        counters.bytes.store(
            counts.received * u64::from(self.what.length) - self.short_by,
            Relaxed,
        );
        counters.datagrams.store(counts.received, Relaxed);
        counters.duplicate.store(counts.duplicate, Relaxed);
        counters.reordered.store(counts.reordered, Relaxed);
        counters.late.store(counts.late, Relaxed);
        counters
            .corrupt
            .store(self.corrupt + counts.absurd, Relaxed);
        counters.lost.store(counts.lost_so_far(), Relaxed);
        counters
            .jitter_ns
            .store(self.jitter.jitter_ns().unwrap_or(0.0) as u64, Relaxed);
    }

    fn give_credit(&mut self, socket: &UdpSocket, flow: u32, tag: u32) {
        let read = self
            .sequence
            .counts()
            .highest
            .map_or(0, |highest| highest + 1);
        if read >= self.credited + self.window / 4 || self.credited == 0 {
            send_credit(socket, flow, tag, read, self.window);
            self.credited = read.max(1);
        }
    }

    fn finish(self, sent: Option<u64>) -> Received {
        Received {
            sequence: self.sequence.finish(sent),
            delay: summarise(&self.jitter, &self.variation),
        }
    }
}

fn summarise(jitter: &JitterRfc3550, variation: &DelayVariation) -> DelaySummary {
    let found = variation.summary();
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    DelaySummary {
        n: Some(found.n),
        jitter_rfc3550_us: jitter.jitter_ns().unwrap_or(0.0) / 1e3,
        ipdv_mean_abs_us: found.ipdv_mean_abs_ns.map(|ns| ns / 1e3),
        pdv_p50_us: us(found.pdv_p50_ns),
        pdv_p90_us: us(found.pdv_p90_ns),
        pdv_p99_us: us(found.pdv_p99_ns),
        pdv_p99_9_us: us(found.pdv_p99_9_ns),
        pdv_max_us: us(found.pdv_max_ns),
    }
}
