//! UDP as iperf 2 carries it: our batches and pacing under its header, its last datagram and its report.

use super::leg::{Latency, Work};
use crate::counters::FlowCounters;
use crate::pacer::{Next, Pacer};
use crate::socket::no_datagram;
use crate::udp_sender::{Rest, recoverable};
use caudal_core::delay::JitterRfc3550;
use caudal_core::plan::MAX_DATAGRAM;
use caudal_core::sequence::{Arrival, SequenceTracker};
use caudal_core::units::BitRate;
use caudal_sys::clock::{monotonic_ns, realtime_ns, sleep_until};
use caudal_sys::poll::poll_readable;
use caudal_sys::udp::{self, GroReceiver, GsoSender, Wait};
use caudal_wire::iperf2::{Datagram, Layout, ServerReport, Transit, datagram_header, fill_pattern};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Messages taken from the kernel in one call at most.
const SLOTS: usize = 16;
/// How often a receiver without arrivals looks at its orders.
const LOOK_UP: Duration = Duration::from_millis(20);
/// How long a flow's end is repeated after it was reported, ns.
const REPEATS_NS: u64 = 250_000_000;
/// How often the last datagram is answered at most.
const MOST_ANSWERS: u32 = 40;
/// How long a sender waits for the answer to each of its last datagrams, ms.
const TRIES_MS: [u64; 18] = [
    10, 10, 10, 20, 20, 20, 50, 50, 50, 100, 100, 250, 250, 250, 250, 250, 250, 250,
];

/// What a sender is to send.
pub(super) struct Sending {
    pub layout: Layout,
    /// The test header in every datagram; empty for none.
    pub header: Vec<u8>,
    pub length: usize,
    /// Bit/s; `None` for as fast as it goes.
    pub rate: Option<u64>,
    /// How many bytes in all; `None` for no end but time's.
    pub bytes: Option<u64>,
    /// The first datagram's number.
    pub first: i64,
    /// How the end is told.
    pub end: Ending,
    /// Where this end must not send more than has come from there: an address that may be another's.
    pub no_more_than: Option<Received>,
    /// The payload, where it is not the digits.
    pub payload: Option<Vec<u8>>,
}

/// What has come from an address.
#[derive(Clone)]
pub(super) enum Received {
    /// As much as this flow receives.
    Counted(Arc<FlowCounters>),
    /// So many bytes.
    Bytes(u64),
}

impl Received {
    fn bytes(&self) -> u64 {
        match self {
            Self::Counted(counters) => counters.bytes.load(Relaxed),
            Self::Bytes(bytes) => *bytes,
        }
    }
}

/// How a sender tells its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// With a last datagram, repeated until the other end reports.
    Answered,
    /// With a last datagram, once.
    Told,
}

/// Sends until the bytes are used up or orders say stop; then tells the end.
pub(super) fn send(socket: &UdpSocket, what: &Sending, work: &Work) -> io::Result<()> {
    let (counters, orders) = (&work.counters, &work.orders);
    let head = what.layout.header();
    let length = what.length.max(head).min(MAX_DATAGRAM as usize);
    let offload = GsoSender::new(socket);
    let most = offload.max_datagrams(length);
    let mut batch = vec![0; most * length];
    for datagram in batch.chunks_exact_mut(length) {
        match &what.payload {
            Some(payload) if !payload.is_empty() => {
                for (byte, value) in datagram.iter_mut().zip(payload.iter().cycle()) {
                    *byte = *value;
                }
            }
            _ => fill_pattern(datagram),
        }
        for (byte, value) in datagram[head..].iter_mut().zip(&what.header) {
            *byte = *value;
        }
    }
    let start_ns = monotonic_ns();
    let mut pacer = what.rate.filter(|rate| *rate > 0).map(|rate| {
        Pacer::new(
            start_ns,
            BitRate::from_bps(rate),
            length as u32,
            most as u32,
        )
    });
    let rest = Rest::between(pacer.as_ref());
    let mut left = what.bytes.unwrap_or(u64::MAX);
    let mut id = what.first;
    let (mut datagrams, mut bytes, mut calls, mut errors) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut refused = 0;
    while !orders.stopped() && left > 0 {
        let now = monotonic_ns();
        let mut count = most;
        if let Some(pacer) = &mut pacer {
            match pacer.next(now) {
                Next::Send(due) => count = (due as usize).min(most),
                Next::Wait(until) => {
                    rest.towards(until, now);
                    continue;
                }
            }
        }
        if let Some(received) = &what.no_more_than {
            let room = received.bytes().saturating_sub(bytes) / length as u64;
            if room == 0 {
                if matches!(received, Received::Bytes(_)) {
                    break;
                }
                sleep_until(now + 1_000_000);
                continue;
            }
            count = count.min(room as usize);
        }
        let mut size = count * length;
        if (size as u64) > left {
            // The last datagram is what is left, but not less than its header.
            let whole = (left / length as u64) as usize;
            let rest = left as usize - whole * length;
            size = whole * length + if rest > 0 { rest.max(head) } else { 0 };
            count = whole + usize::from(rest > 0);
        }
        let sent = super::wall();
        for (nth, datagram) in batch[..size].chunks_mut(length).enumerate() {
            datagram_header(datagram, what.layout, id + nth as i64, sent);
        }
        calls += 1;
        match offload.send_segments(socket, &batch[..size], length as u16) {
            Ok(_) => {
                bytes += size as u64;
                left = left.saturating_sub(size as u64);
                refused = 0;
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
                errors += 1;
                refused += 1;
                counters.send_errors.store(errors, Relaxed);
                // Nobody listens any more.
                if refused > 20 && what.end == Ending::Told {
                    break;
                }
                continue;
            }
            Err(cause) if recoverable(&cause) => {
                // They never left: they are the next again.
                errors += 1;
                counters.send_errors.store(errors, Relaxed);
                if errors > 1000 && bytes == 0 {
                    return Err(cause);
                }
                sleep_until(monotonic_ns() + 100_000);
                continue;
            }
            Err(cause) => return Err(cause),
        }
        id += count as i64;
        datagrams += count as u64;
        counters.datagrams.store(datagrams, Relaxed);
        counters.bytes.store(bytes, Relaxed);
        counters.calls.store(calls, Relaxed);
        counters.last_ns.store(now, Relaxed);
        if let Some(pacer) = &mut pacer {
            pacer.departed(now, count as u32);
        }
    }
    let _ = work
        .notes
        .ended_ns
        .compare_exchange(0, monotonic_ns(), Relaxed, Relaxed);
    if what.layout != Layout::Twelve {
        // The last datagram counts like any other.
        counters.datagrams.store(datagrams + 1, Relaxed);
        counters.bytes.store(bytes + length as u64, Relaxed);
    }
    finish(socket, what, &mut batch[..length], id, work)
}

/// Tells the end, and waits for the report where there is one.
fn finish(
    socket: &UdpSocket,
    what: &Sending,
    last: &mut [u8],
    id: i64,
    work: &Work,
) -> io::Result<()> {
    datagram_header(last, what.layout, -id, super::wall());
    if what.end == Ending::Told {
        let _ = udp::send_segments(socket, last, last.len().max(1) as u16);
        return Ok(());
    }
    let mut inbox = GroReceiver::new(4)?;
    let mut answered = None;
    let mut tries = 0;
    for (nth, patience) in TRIES_MS.into_iter().enumerate() {
        datagram_header(last, what.layout, -(id + nth as i64), super::wall());
        tries += 1;
        let _ = udp::send_segments(socket, last, last.len().max(1) as u16);
        let until = monotonic_ns() + patience * 1_000_000;
        loop {
            let now = monotonic_ns();
            if now >= until || answered.is_some() {
                break;
            }
            let left = Duration::from_nanos(until - now);
            if !poll_readable(&[socket.as_fd()], Some(left))
                .is_ok_and(|ready| ready.contains(&true))
            {
                continue;
            }
            match inbox.receive(socket, Wait::Never) {
                Ok(_) => {
                    for message in inbox.messages() {
                        for datagram in message.datagrams() {
                            answered = answered.or_else(|| ServerReport::decode(datagram));
                        }
                    }
                }
                // Refused: nobody is there, or not any more.
                Err(_) => sleep_until((monotonic_ns() + 1_000_000).min(until)),
            }
        }
        if answered.is_some() {
            break;
        }
    }
    match answered {
        Some(report) => {
            *work
                .notes
                .reported
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = Some(report);
        }
        None => work.notes.unreported.store(tries, Relaxed),
    }
    Ok(())
}

/// A datagram that came to the listening socket before the flow had its own: its bytes, and when it came.
pub(super) type Strays = Arc<Mutex<Vec<(Vec<u8>, u64)>>>;

/// What a receiver is to expect.
pub(super) struct Receiving {
    pub layout: Layout,
    pub wide: bool,
    /// The first datagram's number.
    pub first: i64,
    /// Datagrams that came another way.
    pub strays: Option<Strays>,
    /// Whether the end is answered with a report.
    pub answer: bool,
    /// Whether the report tells one-way times.
    pub times: bool,
    /// A datagram sent again and again until the first one comes: a request to be sent to.
    pub request: Option<Vec<u8>>,
    /// Whether the flow ends with the orders, without a last datagram (a client that receives).
    pub ends_itself: bool,
    /// How long after the first datagram the flow may last, ns.
    pub most_ns: Option<u64>,
}

struct Account {
    layout: Layout,
    wide: bool,
    first: i64,
    sequence: SequenceTracker,
    bytes: u64,
    jitter: JitterRfc3550,
    latency: Latency,
    last_latency: Latency,
    /// Datagrams in all, as the last one says.
    announced: Option<u64>,
    /// Bytes that came, good or not: what may be sent back.
    came: u64,
}

/// What a datagram was.
enum Taken {
    Data,
    Last,
    Nothing,
}

impl Account {
    fn take(&mut self, datagram: &[u8], arrived_wall_ns: u64, timed: bool) -> Taken {
        self.came += datagram.len() as u64;
        let Some(head) = Datagram::read(datagram, self.layout, self.wide) else {
            return Taken::Nothing;
        };
        if head.id < 0 {
            let again = self.announced.is_some();
            let mut all = head
                .id
                .unsigned_abs()
                .saturating_sub(self.first.unsigned_abs());
            // Since 2.0.10 the last datagram counts like any other, the first time it comes.
            if self.layout != Layout::Twelve && !again {
                if matches!(
                    self.sequence.push(all),
                    Arrival::InOrder | Arrival::Reordered { .. }
                ) {
                    self.bytes += datagram.len() as u64;
                }
                all = all.saturating_add(1);
            }
            let seen = self
                .sequence
                .counts()
                .highest
                .map_or(0, |highest| highest + 1);
            // A count that no sender could have reached since is not believed.
            let all = if all > seen.saturating_add(1 << 32) {
                seen
            } else {
                all
            };
            if !again {
                self.announced = Some(all.max(seen));
            }
            return Taken::Last;
        }
        let Some(number) = head
            .id
            .checked_sub(self.first)
            .and_then(|nth| u64::try_from(nth).ok())
        else {
            return Taken::Nothing;
        };
        match self.sequence.push(number) {
            Arrival::Duplicate | Arrival::Absurd => return Taken::Nothing,
            _ => self.bytes += datagram.len() as u64,
        }
        if timed {
            let transit = arrived_wall_ns.wrapping_sub(head.sent_ns()) as i64;
            self.jitter.push(transit);
            self.latency.push(transit as f64 / 1e9);
            self.last_latency.push(transit as f64 / 1e9);
        }
        Taken::Data
    }

    fn publish(&mut self, work: &Work) {
        let counts = self.sequence.counts();
        let counters = &work.counters;
        counters.bytes.store(self.bytes, Relaxed);
        counters.datagrams.store(counts.received, Relaxed);
        counters.duplicate.store(counts.duplicate, Relaxed);
        counters.reordered.store(counts.reordered, Relaxed);
        counters.late.store(counts.late, Relaxed);
        let behind = self.announced.map_or(0, |all| {
            all.saturating_sub(counts.highest.map_or(0, |highest| highest + 1))
        });
        counters.lost.store(counts.lost_so_far() + behind, Relaxed);
        counters
            .jitter_ns
            .store(self.jitter.jitter_ns().unwrap_or(0.0) as u64, Relaxed);
        let mut latency = work
            .notes
            .latency
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        latency.0 = self.latency;
        merge(&mut latency.1, &self.last_latency);
        self.last_latency = Latency::default();
    }

    fn report(&self, work: &Work, took_ns: u64, times: bool) -> ServerReport {
        let counts = self.sequence.counts();
        ServerReport {
            bytes: self.bytes,
            duration: super::seconds(took_ns),
            lost: work.counters.lost.load(Relaxed),
            out_of_order: counts.reordered + counts.late,
            datagrams: counts.received + counts.late + work.counters.lost.load(Relaxed),
            jitter_us: work.counters.jitter_ns.load(Relaxed) / 1000,
            transit: times.then(|| Transit {
                min_s: self.latency.min_s,
                max_s: self.latency.max_s,
                sum_s: self.latency.mean_s * self.latency.count as f64,
                mean_s: self.latency.mean_s,
                m2: self.latency.m2,
                count: self.latency.count as u32,
                gaps: self.latency.count.saturating_sub(1) as u32,
                gap_sum_s: took_ns as f64 / 1e9,
            }),
        }
    }
}

/// Adds one set of times to another.
fn merge(into: &mut Latency, other: &Latency) {
    if other.count == 0 {
        return;
    }
    if into.count == 0 {
        *into = *other;
        return;
    }
    let (a, b) = (into.count as f64, other.count as f64);
    let off = other.mean_s - into.mean_s;
    into.count += other.count;
    into.mean_s += off * b / (a + b);
    into.m2 += other.m2 + off * off * a * b / (a + b);
    into.min_s = into.min_s.min(other.min_s);
    into.max_s = into.max_s.max(other.max_s);
}

/// Receives until the last datagram, or until orders say stop.
pub(super) fn receive(socket: &UdpSocket, what: &Receiving, work: &Work) -> io::Result<()> {
    udp::set_receive_timeout(socket, Some(LOOK_UP))?;
    let mut inbox = GroReceiver::new(SLOTS)?;
    let mut account = Account {
        layout: what.layout,
        wide: what.wide,
        first: what.first,
        sequence: SequenceTracker::new(),
        bytes: 0,
        jitter: JitterRfc3550::new(),
        latency: Latency::default(),
        last_latency: Latency::default(),
        announced: None,
        came: 0,
    };
    let start_ns = monotonic_ns();
    let mut calls = 0;
    let mut answers = 0;
    let mut answered_bytes = 0;
    let mut ended_at: Option<u64> = None;
    let mut ending_until = None;
    let mut requests = 0;
    let mut requested_ns = 0;
    loop {
        let mut last_seen = 0;
        if let Some(strays) = &what.strays {
            let waiting =
                std::mem::take(&mut *strays.lock().unwrap_or_else(PoisonError::into_inner));
            for (datagram, arrived) in waiting {
                match account.take(&datagram, arrived, true) {
                    Taken::Last => last_seen += 1,
                    Taken::Data => note_arrival(work, monotonic_ns()),
                    Taken::Nothing => {}
                }
            }
        }
        match inbox.receive(socket, Wait::ForOne) {
            Ok(_) => {
                calls += 1;
                let now = monotonic_ns();
                let wall = realtime_ns();
                for message in inbox.messages() {
                    let arrived = message.kernel_time_ns.unwrap_or(wall);
                    let mut timed = true;
                    for datagram in message.datagrams() {
                        match account.take(datagram, arrived, timed) {
                            Taken::Last => last_seen += 1,
                            Taken::Data => {
                                timed = false;
                                note_arrival(work, now);
                            }
                            Taken::Nothing => {}
                        }
                    }
                }
                work.counters.calls.store(calls, Relaxed);
            }
            Err(cause) if no_datagram(&cause) => {}
            Err(cause) => return Err(cause),
        }
        account.publish(work);
        let now = monotonic_ns();
        let heard = work.counters.first_ns.load(Relaxed) != 0;
        if let Some(request) = &what.request
            && !heard
            && !work.orders.stopped()
            && now >= requested_ns + LOOK_UP.as_nanos() as u64
        {
            if requests >= 500 {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the server does not send; it may be older than 2.1, or want a proof of this address",
                ));
            }
            requests += 1;
            requested_ns = now;
            let _ = udp::send_segments(socket, request, request.len().max(1) as u16);
        }
        if last_seen > 0 {
            let took = {
                let at = *ended_at.get_or_insert(now);
                let first = work.counters.first_ns.load(Relaxed);
                at.saturating_sub(if first == 0 { start_ns } else { first })
            };
            let _ = work
                .notes
                .ended_ns
                .compare_exchange(0, now, Relaxed, Relaxed);
            if let Some(all) = account.announced {
                work.notes
                    .announced_plus_one
                    .store(all.saturating_add(1), Relaxed);
            }
            if what.answer && answers < MOST_ANSWERS {
                let report = account.report(work, took, what.times).encode(what.layout);
                // Nobody is sent more than came from there.
                if answered_bytes + report.len() as u64 <= account.came {
                    answered_bytes += report.len() as u64;
                    answers += 1;
                    let _ = udp::send_segments(socket, &report, report.len() as u16);
                }
            }
            ending_until = Some(now + REPEATS_NS);
            if !what.answer {
                return Ok(());
            }
        }
        if ending_until.is_some_and(|until| now >= until) {
            return Ok(());
        }
        if work.orders.stopped() && ended_at.is_none() {
            return Ok(());
        }
        if work.orders.expected().is_some() {
            return Ok(());
        }
        if let Some(most) = what.most_ns {
            let first = work.counters.first_ns.load(Relaxed);
            if what.ends_itself && first != 0 && now >= first + most && ended_at.is_none() {
                return Ok(());
            }
        }
    }
}

fn note_arrival(work: &Work, now: u64) {
    let _ = work
        .counters
        .first_ns
        .compare_exchange(0, now, Relaxed, Relaxed);
    work.counters.last_ns.store(now, Relaxed);
}
