//! Bulk UDP, the sending end: datagrams on a schedule, in batches no longer than the pace allows.

use crate::counters::{FlowCounters, Orders};
use crate::layout::Layout;
use crate::pacer::{Next, Pacer};
use crate::socket::no_datagram;
use caudal_core::plan::DatagramSizes;
use caudal_core::sample::Spacing;
use caudal_core::units::BitRate;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::udp::{self, GroReceiver, GsoSender, Wait};
use caudal_wire::datagram::{HEADER, Header, Kind};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The last part of a wait, spent awake, so that a departure is on time, ns.
const AWAKE_NS: u64 = 60_000;
/// Schedules with larger gaps than this need no waking wait: a late departure is a small error there.
const AWAKE_BELOW_GAP_NS: f64 = 1_000_000.0;
/// How long a sleep may be before orders are looked at again, ns.
const LONGEST_SLEEP_NS: u64 = 50_000_000;
/// Datagrams that leave alone between two breaths.
const BREATH: u64 = 16;
/// The part of the time they took that a breath takes: iperf3's own sender loses about as much to its
/// looking at clocks and sockets.
const BREATH_PART: u64 = 16;
/// The longest breath, ns.
const LONGEST_BREATH_NS: u64 = 20_000;
/// How long a sender waits for credit before it takes the outstanding datagrams for gone.
const CREDIT_PATIENCE: Duration = Duration::from_millis(10);

/// What a UDP sender is to do.
#[derive(Debug, Clone, Copy)]
pub struct Sending<L> {
    /// How datagrams are numbered and stamped.
    pub layout: L,
    /// Bytes in a datagram.
    pub length: u32,
    /// The rate to keep; `None` for as fast as it goes.
    pub rate: Option<BitRate>,
    /// The sizes of the datagrams.
    pub sizes: DatagramSizes,
    /// Datagrams in a departure at least, where a rate is kept.
    pub burst: u32,
    /// Whether datagrams leave one by one where no rate is kept: a receiver that reads them so loses most
    /// of what comes in batches.
    pub alone: bool,
    /// Whose credit to wait for: the flow and the tag of the test.
    pub credit: Option<(u32, u32)>,
}

/// Sends until the bytes are used up or orders say stop; how even the departures were.
///
/// # Errors
/// What the kernel said, when it was about more than one batch.
pub fn send<L: Layout>(
    socket: &UdpSocket,
    what: &Sending<L>,
    counters: &FlowCounters,
    orders: &Orders,
) -> io::Result<Option<Spacing>> {
    let length = what.length as usize;
    let offload = GsoSender::new(socket);
    let alone = what.alone && what.rate.is_none();
    let most = if alone {
        1
    } else {
        offload.max_datagrams(length)
    };
    let mut batch = vec![0; most * length];
    for datagram in batch.chunks_exact_mut(length) {
        what.layout.fill(datagram);
    }
    let datagrams = what.sizes.datagrams();
    let start_ns = monotonic_ns();
    let mut pacer = what
        .rate
        .map(|rate| Pacer::new(start_ns, rate, what.length, most as u32).with_bursts(what.burst));
    let rest = Rest::between(pacer.as_ref());
    let mut credit = what
        .credit
        .map(|(flow, tag)| Credit::new(flow, tag, what.length, most as u64))
        .transpose()?;
    let mut sequence: u64 = 0;
    let mut breathed = start_ns;
    let (mut bytes, mut calls, mut errors) = (0_u64, 0_u64, 0_u64);
    while !orders.stopped() && datagrams.is_none_or(|all| sequence < all) {
        let mut now = monotonic_ns();
        let mut count = most as u64;
        if let Some(pacer) = &mut pacer {
            match pacer.next(now) {
                Next::Send(batch) => count = u64::from(batch),
                Next::Wait(until) => {
                    rest.towards(until, now);
                    continue;
                }
            }
        }
        count = what.sizes.batch(sequence, count.min(most as u64));
        if let Some(credit) = &mut credit {
            credit.wait_for_room(socket, sequence, count, counters, orders)?;
            now = monotonic_ns();
        }
        let size =
            (count as usize - 1) * length + what.sizes.length_of(sequence + count - 1) as usize;
        for (datagram, number) in batch[..size].chunks_mut(length).zip(sequence..) {
            what.layout.write(datagram, number, now);
        }
        calls += 1;
        match offload.send_segments(socket, &batch[..size], what.length as u16) {
            Ok(_) => bytes += size as u64,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            // The kernel's own queue is full, or an earlier datagram came back as undeliverable: these
            // datagrams never left, the next ones may.
            Err(cause) if recoverable(&cause) => {
                errors += count;
                counters.send_errors.store(errors, Relaxed);
                if errors > 1000 && bytes == 0 {
                    return Err(cause);
                }
            }
            Err(cause) => {
                counters.datagrams.store(sequence, Relaxed);
                return Err(cause);
            }
        }
        sequence += count;
        counters.datagrams.store(sequence, Relaxed);
        counters.bytes.store(bytes, Relaxed);
        counters.calls.store(calls, Relaxed);
        counters.last_ns.store(now, Relaxed);
        if alone && sequence.is_multiple_of(BREATH) {
            // A little slower than it could: on one machine a receiver is about as fast as a sender.
            let took = now.saturating_sub(breathed);
            while monotonic_ns() < now + (took / BREATH_PART).min(LONGEST_BREATH_NS) {
                std::hint::spin_loop();
            }
            breathed = monotonic_ns();
        }
        if let Some(pacer) = &mut pacer {
            pacer.departed(now, count as u32);
        }
    }
    Ok(pacer.map(|pacer| pacer.spacing()))
}

/// How a sender waits for its next departure: asleep, but for the last part where departures are dense.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest {
    awake_ns: u64,
}

impl Rest {
    /// That of a sender that keeps this schedule, where it keeps one.
    pub(crate) fn between(pacer: Option<&Pacer>) -> Self {
        let dense = pacer.is_some_and(|pacer| pacer.period_ns() <= AWAKE_BELOW_GAP_NS);
        Self {
            awake_ns: if dense { AWAKE_NS } else { 0 },
        }
    }

    /// Passes some of the time from `now` to `until`: the clock and the orders are to be looked at again.
    #[inline]
    pub(crate) fn towards(self, until: u64, now: u64) {
        let asleep = until.saturating_sub(self.awake_ns);
        if now < asleep {
            sleep_until(asleep.min(now + LONGEST_SLEEP_NS));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Whether it was about this batch only, so that the next one may leave.
pub(crate) fn recoverable(cause: &io::Error) -> bool {
    matches!(
        cause.raw_os_error(),
        Some(
            libc::ENOBUFS
                | libc::EAGAIN
                | libc::ECONNREFUSED
                | libc::ENETUNREACH
                | libc::EHOSTUNREACH
        )
    )
}

/// How far the receiver has read, as it says itself: on one machine the receiver's buffer is ours to
/// keep from overflowing.
struct Credit {
    tag: u32,
    flow: u32,
    read: u64,
    window: u64,
    inbox: GroReceiver,
}

impl Credit {
    fn new(flow: u32, tag: u32, length: u32, batch: u64) -> io::Result<Self> {
        // Until the receiver has said how much it can hold: what any buffer holds.
        let window = (64 << 10) / u64::from(length).max(1);
        Ok(Self {
            tag,
            flow,
            read: 0,
            window: window.max(batch),
            inbox: GroReceiver::new(4)?,
        })
    }

    fn wait_for_room(
        &mut self,
        socket: &UdpSocket,
        sent: u64,
        next: u64,
        counters: &FlowCounters,
        orders: &Orders,
    ) -> io::Result<()> {
        let mut began = None;
        while sent + next > self.read + self.window.max(next) && !orders.stopped() {
            // What has come in already first, then wait.
            if !self.hear(socket, Wait::Never)? {
                let began = *began.get_or_insert_with(monotonic_ns);
                let ready =
                    caudal_sys::poll::poll_readable(&[socket.as_fd()], Some(CREDIT_PATIENCE))?;
                if !ready.contains(&true)
                    && monotonic_ns() - began >= CREDIT_PATIENCE.as_nanos() as u64
                {
                    // Lost on the way: the account starts anew.
                    self.read = sent;
                }
            }
        }
        if let Some(began) = began {
            counters
                .credit_wait_ns
                .fetch_add(monotonic_ns() - began, Relaxed);
        }
        Ok(())
    }

    fn hear(&mut self, socket: &UdpSocket, wait: Wait) -> io::Result<bool> {
        match self.inbox.receive(socket, wait) {
            Ok(0) => Ok(false),
            Ok(_) => {
                for message in self.inbox.messages() {
                    for datagram in message.data.chunks(message.segment.max(HEADER)) {
                        if let Some(header) = Header::read(datagram)
                            && header.kind == Kind::Credit
                            && header.tag == self.tag
                            && header.flow == self.flow
                        {
                            self.read = self.read.max(header.sequence);
                            self.window = header.sent_ns.max(1);
                        }
                    }
                }
                Ok(true)
            }
            Err(cause) if no_datagram(&cause) => Ok(false),
            Err(cause) => Err(cause),
        }
    }
}

/// Sends a receiver's credit: it has read up to `read` and can hold `window` datagrams.
pub(crate) fn send_credit(socket: &UdpSocket, flow: u32, tag: u32, read: u64, window: u64) {
    let mut bytes = [0; HEADER];
    Header {
        kind: Kind::Credit,
        flow,
        sequence: read,
        sent_ns: window,
        tag,
    }
    .write(&mut bytes);
    // A credit that cannot be sent is replaced by the next one, or by the sender's patience.
    let _ = udp::send_segments(socket, &bytes, HEADER as u16);
}
