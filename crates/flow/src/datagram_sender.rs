//! The sending end of a UDP flow: datagrams on a schedule, in batches no longer than the rate allows.

use super::counters::FlowCounters;
use super::credit::{CreditId, CreditWindow};
use super::datagram_format::DatagramFormat;
use super::departure_wait::{DepartureWait, WaitStep};
use super::pacer::{NextDeparture, Pacer};
use super::send_refusal::SendRefusal;
use super::signals::FlowSignals;
use super::thread::{FlowContext, FlowWork, TaskOutcome};
use super::varying_rate::VaryingRate;
use crate::address_validation::AntiAmplificationLimit;
use crate::socket::{canonical, is_too_large, segmentation};
use caudal_core::plan::{DatagramSizes, Pacing};
use caudal_core::sample::Spacing;
use caudal_core::units::BitRate;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::udp;
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Datagrams sent one by one between two pauses.
const PAUSE_EVERY: u64 = 16;
/// Pause relative to the time of the datagrams before it: iperf3's own sender spends about as much on its clocks and select().
const PAUSE_PART: u64 = 16;
/// Maximum pause, ns.
const MAX_PAUSE_NS: u64 = 20_000;
/// Pause after a datagram that the kernel had no room for, ns.
const RESEND_PAUSE_NS: u64 = 100_000;
/// Maximum bytes handed to the kernel in one call.
pub const MAX_BATCH: usize = 1 << 16;
/// Maximum path MTU errors after which the same datagram is sent again.
const MAX_PATH_REPORTS: u32 = 1000;
/// Maximum errors of the kernel before the first datagram has left.
const MAX_FIRST_ERRORS: u64 = 1000;

/// The rate of a UDP sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatagramPace {
    /// As fast as possible.
    Max,
    /// Payload bits per second, with at least `burst` datagrams in a departure.
    Rate {
        /// The rate.
        rate: BitRate,
        /// Datagrams in a departure.
        burst: u32,
    },
    /// One datagram every so many ns.
    Gap(u64),
    /// Payload bits per second that vary.
    Varying {
        /// Their mean.
        mean: BitRate,
        /// Their standard deviation.
        deviation: BitRate,
    },
}

impl DatagramPace {
    /// The pace of a rate, where there is one.
    pub fn from_rate(rate: Option<BitRate>) -> Self {
        rate.map_or(Self::Max, |rate| Self::Rate { rate, burst: 1 })
    }
}

/// The number of datagrams handed to the kernel in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendGrouping {
    /// Several in one call, as far as the rate allows.
    Batches,
    /// One by one where no rate is kept, a little slower than possible: a receiver that reads them so loses most of what
    /// arrives in batches.
    SingleAtMax,
    /// One by one.
    Single,
}

/// The treatment of datagrams that the kernel refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsentDatagrams {
    /// They are counted as errors; the next ones follow.
    Skip,
    /// They are sent again; the flow fails after so many refusals by the other end's host in a row.
    Resend {
        /// The maximum number of refusals.
        max_refusals: u32,
    },
}

/// A limit on the datagrams that may be outstanding.
#[derive(Clone)]
pub enum DatagramLimit {
    /// None.
    Unlimited,
    /// The receiver's credit.
    Credit(CreditId),
    /// The bytes received from the other end: its address is not validated.
    AntiAmplification(Arc<AntiAmplificationLimit>),
}

/// The sending end of a UDP flow.
pub struct DatagramSender<F> {
    /// The layout of datagrams.
    pub format: F,
    /// Bytes in a datagram.
    pub length: u32,
    /// The sizes of the datagrams.
    pub sizes: DatagramSizes,
    /// The rate to keep.
    pub pace: DatagramPace,
    /// The way it waits for departures, where it keeps a rate.
    pub pacing: Pacing,
    /// The number of datagrams handed to the kernel in one call.
    pub grouping: SendGrouping,
    /// The treatment of those it refuses.
    pub unsent: UnsentDatagrams,
    /// The limit on outstanding ones.
    pub limit: DatagramLimit,
}

/// The counts of a running sender.
#[derive(Default)]
struct SendCounts {
    sequence: u64,
    bytes: u64,
    calls: u64,
    errors: u64,
    forbidden: u64,
    refusals: u32,
}

impl SendCounts {
    /// Writes the counts into the flow's counters, after a departure at `now_ns`.
    #[inline]
    fn publish(&self, counters: &FlowCounters, now_ns: u64) {
        counters.datagrams.store(self.sequence, Relaxed);
        counters.bytes.store(self.bytes, Relaxed);
        counters.calls.store(self.calls, Relaxed);
        counters.last_ns.store(now_ns, Relaxed);
    }
}

/// The pauses of a sender without a rate: on one machine a receiver is about as fast as a sender, and must not be overrun.
struct SenderPauses {
    /// The end of the latest pause, ns of the monotonic clock.
    paused_ns: u64,
}

impl SenderPauses {
    const fn new(start_ns: u64) -> Self {
        Self {
            paused_ns: start_ns,
        }
    }

    /// Pauses after a departure at `now_ns`, where a pause is due after `sent` datagrams.
    #[inline]
    fn after(&mut self, sent: u64, now_ns: u64) {
        if !sent.is_multiple_of(PAUSE_EVERY) {
            return;
        }
        let took_ns = now_ns.saturating_sub(self.paused_ns);
        while monotonic_ns() < now_ns + (took_ns / PAUSE_PART).min(MAX_PAUSE_NS) {
            std::hint::spin_loop();
        }
        self.paused_ns = monotonic_ns();
    }
}

/// The outcome of one call to send.
enum SendResult {
    /// The datagrams have left, or count as if they had.
    Advanced,
    /// They are to be sent again.
    Again,
}

impl<F: DatagramFormat + Send + 'static> DatagramSender<F> {
    /// The task of the flow's thread.
    pub fn into_task(self) -> FlowWork {
        FlowWork::new(MAX_BATCH, move |flow| {
            let Some(socket) = flow.socket.udp() else {
                return TaskOutcome::default();
            };
            flow.gate.wait(&flow.signals);
            match self.send(socket, flow) {
                Ok(spacing) => TaskOutcome {
                    spacing,
                    ..TaskOutcome::default()
                },
                Err(cause) => TaskOutcome::from_result(Err(cause)),
            }
        })
    }
}

impl<F: DatagramFormat> DatagramSender<F> {
    /// Sends until all datagrams are sent or the flow is stopped: the evenness of the departures, where a rate is kept.
    ///
    /// # Errors
    /// Those of the kernel that concern more than one batch.
    pub fn send(&self, socket: &UdpSocket, flow: &FlowContext) -> io::Result<Option<Spacing>> {
        let (counters, signals) = (&*flow.counters, &*flow.signals);
        let length = self.length as usize;
        let offload = segmentation(socket);
        let has_pauses = self.has_pauses();
        let mut max = match self.grouping {
            SendGrouping::Single => 1,
            SendGrouping::SingleAtMax if has_pauses => 1,
            _ if !fits_path(socket, self.length) => 1,
            _ => offload.max_datagrams(length),
        };
        let mut batch = self.filled_batch(max);
        let start_ns = monotonic_ns();
        let mut pacer = self.pacer(start_ns, max as u32);
        let mut varying = self.varying_rate(start_ns);
        let period_ns = pacer.as_ref().map_or(0.0, Pacer::period_ns);
        let mut wait = DepartureWait::new(self.pacing, period_ns, start_ns);
        let mut limiter = Limiter::new(&self.limit, self.length, max as u64)?;
        let mut counts = SendCounts::default();
        let mut path_reports = 0;
        let mut pauses = has_pauses.then(|| SenderPauses::new(start_ns));
        let all = self.sizes.datagrams();
        let amount = flow.amount_limit();
        while !signals.is_stopped() && all.is_none_or(|all| counts.sequence < all) {
            let mut now = monotonic_ns();
            if now >= signals.stops_at_ns() {
                break;
            }
            let mut count = max as u64;
            if let Some(pacer) = &mut pacer {
                if let Some(rate) = varying.as_mut().and_then(|varying| varying.changed(now)) {
                    pacer.change_rate(rate, self.length);
                }
                match pacer.next(now) {
                    NextDeparture::Send(due) => count = u64::from(due).min(max as u64),
                    NextDeparture::Wait(until_ns) => {
                        let until_ns = until_ns.min(signals.stops_at_ns());
                        pass_towards(until_ns, now, &mut wait, pacer);
                        continue;
                    }
                }
            }
            count = self.sizes.batch(counts.sequence, count);
            match limiter.allow(socket, &counts, count, self.length, counters, signals)? {
                DatagramsAllowed::Now(allowed) => count = allowed,
                DatagramsAllowed::AfterWait => now = monotonic_ns(),
                DatagramsAllowed::Later => continue,
                DatagramsAllowed::NoMore => break,
            }
            if let Some(amount) = amount {
                let room = amount.room_to_send().map_err(io::Error::other)?;
                count = count.min(room.div_ceil(length as u64));
            }
            let last = self.sizes.length_of(counts.sequence + count - 1) as usize;
            let size = (count as usize - 1) * length + last;
            self.write_stamps(&mut batch[..size], counts.sequence, now);
            counts.calls += 1;
            let sent = offload.send_segments(socket, &batch[..size], self.length as u16);
            if let Err(cause) = &sent
                && is_about_path_mtu(cause)
                && path_reports < MAX_PATH_REPORTS
            {
                path_reports += 1;
                if !fits_path(socket, self.length) {
                    // The kernel fragments what it is given datagram by datagram.
                    max = 1;
                }
                limiter.give_back(count, self.length);
                continue;
            }
            match self.after_send(sent, size, count, &mut counts, counters)? {
                SendResult::Advanced => {}
                SendResult::Again => {
                    limiter.give_back(count, self.length);
                    continue;
                }
            }
            counts.sequence += count;
            counts.publish(counters, now);
            if let Some(amount) = amount {
                amount.add_sent(size as u64);
            }
            if let Some(pauses) = &mut pauses {
                pauses.after(counts.sequence, now);
            }
            if let Some(pacer) = &mut pacer {
                pacer.departed(now, count as u32);
            }
        }
        Ok(pacer.map(|pacer| pacer.spacing()))
    }

    /// `true` when the sender is a little slower than possible.
    fn has_pauses(&self) -> bool {
        self.grouping == SendGrouping::SingleAtMax && self.pace == DatagramPace::Max
    }

    /// Room for `max` datagrams, with their payload.
    fn filled_batch(&self, max: usize) -> Vec<u8> {
        let length = self.length as usize;
        let mut batch = vec![0; max * length];
        for datagram in batch.chunks_exact_mut(length) {
            self.format.fill(datagram);
        }
        batch
    }

    /// Writes number and time into datagrams that leave at `now_ns`, the first with the number `first`.
    #[inline]
    fn write_stamps(&self, batch: &mut [u8], first: u64, now_ns: u64) {
        let stamp_ns = self.format.stamp_ns(now_ns);
        for (datagram, number) in batch.chunks_mut(self.length as usize).zip(first..) {
            self.format.write(datagram, number, stamp_ns);
        }
    }

    fn pacer(&self, start_ns: u64, max: u32) -> Option<Pacer> {
        match self.pace {
            DatagramPace::Max => None,
            DatagramPace::Rate { rate, burst } => {
                Some(Pacer::new(start_ns, rate, self.length, max, self.pacing).with_bursts(burst))
            }
            DatagramPace::Gap(gap_ns) => Some(Pacer::with_gap(start_ns, gap_ns, self.pacing)),
            DatagramPace::Varying { mean, .. } => {
                Some(Pacer::new(start_ns, mean, self.length, max, self.pacing))
            }
        }
    }

    fn varying_rate(&self, start_ns: u64) -> Option<VaryingRate> {
        match self.pace {
            DatagramPace::Varying { mean, deviation } => {
                Some(VaryingRate::new(mean, deviation, start_ns))
            }
            _ => None,
        }
    }

    /// Counts what became of `count` datagrams of `size` bytes in total.
    #[inline]
    fn after_send(
        &self,
        sent: io::Result<usize>,
        size: usize,
        count: u64,
        counts: &mut SendCounts,
        counters: &FlowCounters,
    ) -> io::Result<SendResult> {
        let cause = match sent {
            Ok(_) => {
                counts.bytes += size as u64;
                counts.refusals = 0;
                return Ok(SendResult::Advanced);
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {
                return Ok(SendResult::Again);
            }
            Err(cause) => cause,
        };
        let Some(refusal) = SendRefusal::of_datagram(&cause) else {
            counters.datagrams.store(counts.sequence, Relaxed);
            return Err(cause);
        };
        // The kernel refuses all datagrams of one call or none.
        let is_skipped = self.unsent == UnsentDatagrams::Skip;
        let refused = if is_skipped { count } else { 1 };
        counts.errors += refused;
        counters.send_errors.store(counts.errors, Relaxed);
        if refusal == SendRefusal::Forbidden {
            counts.forbidden += refused;
            counters.send_forbidden.store(counts.forbidden, Relaxed);
        }
        let is_refusal = cause.kind() == io::ErrorKind::ConnectionRefused;
        match self.unsent {
            UnsentDatagrams::Resend { max_refusals } if is_refusal => {
                counts.refusals += 1;
                if counts.refusals > max_refusals {
                    return Err(cause);
                }
                Ok(SendResult::Again)
            }
            _ if counts.errors > MAX_FIRST_ERRORS && counts.bytes == 0 => Err(cause),
            // The kernel's own queue is full, a firewall of this host drops them, or an earlier datagram came back as
            // undeliverable: these datagrams never left, the next ones may.
            UnsentDatagrams::Skip => Ok(SendResult::Advanced),
            UnsentDatagrams::Resend { .. } => {
                sleep_until(monotonic_ns() + RESEND_PAUSE_NS);
                Ok(SendResult::Again)
            }
        }
    }
}

/// Passes some of the time from `now` to `until_ns`: the clock and the signals are to be looked at again.
#[inline]
fn pass_towards(until_ns: u64, now: u64, wait: &mut DepartureWait, pacer: &mut Pacer) {
    match wait.step(now, until_ns) {
        WaitStep::Sleep(asleep_ns) => {
            sleep_until(asleep_ns);
            if let Some(usual_ns) = wait.woken(asleep_ns, monotonic_ns()) {
                pacer.adapt_to(usual_ns);
            }
        }
        WaitStep::Awake(until_ns) => {
            while monotonic_ns() < until_ns {
                std::hint::spin_loop();
            }
        }
    }
}

/// `true` for a router's report that an earlier datagram did not fit the path, and for the kernel's refusal to cut datagrams that do not fit
/// out of one buffer (`EINVAL` in some versions).
fn is_about_path_mtu(cause: &io::Error) -> bool {
    is_too_large(cause) || cause.raw_os_error() == Some(libc::EINVAL)
}

/// `true` when datagrams of `length` bytes fit the path, as far as the kernel knows it.
fn fits_path(socket: &UdpSocket, length: u32) -> bool {
    let headers = match socket.peer_addr() {
        Ok(peer) if canonical(peer).is_ipv4() => 28,
        _ => 48,
    };
    udp::path_mtu(socket).is_none_or(|mtu| length + headers <= mtu)
}

/// The limit of a running sender.
enum Limiter {
    Unlimited,
    Credit(CreditWindow),
    AntiAmplification(Arc<AntiAmplificationLimit>),
}

/// The datagrams that may leave.
enum DatagramsAllowed {
    /// This many, now.
    Now(u64),
    /// All of them, after a wait.
    AfterWait,
    /// None yet.
    Later,
    /// None any more.
    NoMore,
}

impl Limiter {
    fn new(limit: &DatagramLimit, length: u32, max: u64) -> io::Result<Self> {
        Ok(match limit {
            DatagramLimit::Unlimited => Self::Unlimited,
            DatagramLimit::Credit(id) => Self::Credit(CreditWindow::new(*id, length, max)?),
            DatagramLimit::AntiAmplification(limit) => Self::AntiAmplification(Arc::clone(limit)),
        })
    }

    /// The datagrams that may leave of `count`.
    #[inline]
    fn allow(
        &mut self,
        socket: &UdpSocket,
        counts: &SendCounts,
        count: u64,
        length: u32,
        counters: &FlowCounters,
        signals: &FlowSignals,
    ) -> io::Result<DatagramsAllowed> {
        Ok(match self {
            Self::Unlimited => DatagramsAllowed::Now(count),
            Self::Credit(window) => {
                window.wait_for_room(socket, counts.sequence, count, counters, signals)?;
                DatagramsAllowed::AfterWait
            }
            Self::AntiAmplification(limit) => {
                let is_final = limit.is_final();
                match limit.claim_datagrams(count, u64::from(length)) {
                    0 if is_final => DatagramsAllowed::NoMore,
                    0 => {
                        sleep_until(monotonic_ns() + 1_000_000);
                        DatagramsAllowed::Later
                    }
                    claimed => DatagramsAllowed::Now(claimed),
                }
            }
        })
    }

    /// Gives back what `count` datagrams were allowed that are to be sent again.
    fn give_back(&self, count: u64, length: u32) {
        if let Self::AntiAmplification(limit) = self {
            limit.give_back(count * u64::from(length));
        }
    }
}
