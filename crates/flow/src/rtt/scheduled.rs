//! Messages on a schedule: each is sent when it is due, whatever comes back.
//!
//! Round trips count from when a message was due: a stall shows in every message that it delayed, not in one
//! (Tene, "How NOT to Measure Latency").

use super::kernel_account::{KernelAccounts, Messages, RoundTripTimes};
use super::probe::{
    Probe, RefusedMessages, altered, announce, is_unanswered, longest_ns, send_udp,
};
use super::reply_feed::ReplyFeed;
use crate::FlowSignals;
use crate::socket::{DataSocket, is_retryable, is_too_large};
use caudal_analysis::echo::{
    Departure, DepartureProcess, EchoSeries, OneWayTransit, Reply, SlowRoundTrip,
    SlowestRoundTrips, departure_times,
};
use caudal_core::event::{Event, ProbeReply};
use caudal_core::marks::MarkCounter;
use caudal_sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until};
use caudal_sys::udp::receive_with_tos;
use caudal_wire::datagram::{OPENING_BYTES, OpeningDatagram};
use caudal_wire::echo::{Announcement, Stamps, number_up_to, write_number};
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

/// The time a receive waits before it looks whether all is over.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum time before a message is due at which its thread wakes up, ns: timers are late by tens of µs.
const EARLY_NS: u64 = 100_000;
/// Maximum sleep before a thread looks whether it is stopped, ns.
const MAX_SLEEP_NS: u64 = 50_000_000;

/// The schedule of one message size on one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScheduleSettings {
    /// The mean time between messages.
    pub(super) period: Duration,
    /// `true` for exponential gaps.
    pub(super) poisson: bool,
    /// The seed of exponential gaps.
    pub(super) seed: u64,
    /// The start of the test, ns of the monotonic clock.
    pub(super) start_ns: u64,
}

/// Sends one size's messages when they are due, while another thread receives the replies.
pub(super) fn on_schedule(
    probe: &mut Probe,
    socket: &DataSocket,
    series: &mut EchoSeries,
    settings: ScheduleSettings,
) -> io::Result<()> {
    let size = series.size as usize;
    let count = 1 + probe.plan.count;
    prepare(probe, socket, series.size, count)?;
    let schedule = Schedule::new(probe, socket, settings, count);
    let mut late = Vec::with_capacity(schedule.due.len());
    let mut refused = RefusedMessages::default();
    let mut replies = Collector {
        schedule: &schedule,
        timeout_ns: probe.plan.timeout.as_nanos() as u64,
        replies: vec![Reply::LOST; schedule.due.len()],
        one_way: vec![None; schedule.due.len()],
        events: probe
            .events
            .clone()
            .map(|events| (events, settings.start_ns)),
        client: probe.client,
        slowest: SlowestRoundTrips::default(),
        accounts: probe.accounts,
        heard_ns: Arc::clone(&probe.heard_ns),
        settled: 0,
        given_up: 0,
        feed: probe.feed.clone(),
        marks: MarkCounter::default(),
        late: 0,
        duplicate: 0,
        size,
        buffer: &mut probe.reply,
        filled: 0,
    };
    let (sending, receiving) = exchange(
        &schedule,
        &mut probe.message[..size],
        &mut late,
        &mut refused,
        &mut replies,
    );
    series.refused += refused.counts();
    replies.record(late, series, settings.start_ns);
    probe.number += count;
    // An error in receiving is the cause of one in sending after it.
    receiving.and(sending)
}

/// Sets the socket up, and over TCP announces the messages.
fn prepare(probe: &Probe, socket: &DataSocket, size: u32, count: u64) -> io::Result<()> {
    match socket {
        DataSocket::Tcp(stream) => {
            announce(stream, Announcement { size, count }, &probe.plan)?;
            stream.set_read_timeout(Some(CHECK_INTERVAL))?;
            // The sender may have to wait for room, which shows in how late messages leave.
            stream.set_write_timeout(None)?;
        }
        DataSocket::Udp(socket) => socket.set_read_timeout(Some(CHECK_INTERVAL))?,
    }
    let _ = set_timer_slack_ns(1);
    Ok(())
}

/// Sends on this thread and receives on another, until both are over: their outcomes.
fn exchange(
    schedule: &Schedule<'_>,
    message: &mut [u8],
    late: &mut Vec<u64>,
    refused: &mut RefusedMessages,
    replies: &mut Collector<'_>,
) -> (io::Result<()>, io::Result<()>) {
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let received = replies.collect();
            if received.is_err() {
                schedule.give_up();
            }
            received
        });
        let sending = schedule.send(message, late, refused);
        schedule.sending_over.store(true, Release);
        let receiving = receiver.join().unwrap_or_else(|_| {
            Err(io::Error::other(
                "its receiving thread ended in an error of the program",
            ))
        });
        (sending, receiving)
    })
}

/// The schedule of one size, shared by the thread that sends and the one that receives.
struct Schedule<'a> {
    socket: &'a DataSocket,
    signals: Arc<FlowSignals>,
    /// The time at which each message is due, ns after the first could leave.
    due: Vec<u64>,
    /// The time at which the first could leave, ns of the monotonic clock.
    base_ns: u64,
    early_ns: u64,
    /// The number of the first message.
    first: u64,
    /// Messages that have left, or are about to.
    sent: AtomicU64,
    sending_over: AtomicBool,
    /// Set when nothing can be received any more.
    broken: AtomicBool,
}

impl<'a> Schedule<'a> {
    fn new(probe: &Probe, socket: &'a DataSocket, settings: ScheduleSettings, count: u64) -> Self {
        let period_ns = settings.period.as_nanos() as u64;
        // Spread over a period, the connections do not send at the same time.
        let share = u64::from(probe.client) * period_ns / u64::from(probe.plan.clients);
        let offset_ns = if settings.poisson { 0 } else { share };
        Self {
            socket,
            signals: Arc::clone(&probe.signals),
            due: departure_times(
                settings.period,
                if settings.poisson {
                    DepartureProcess::Poisson {
                        seed: settings.seed,
                    }
                } else {
                    DepartureProcess::Periodic
                },
                count,
            ),
            base_ns: monotonic_ns() + EARLY_NS + offset_ns,
            early_ns: EARLY_NS.min(period_ns / 4),
            first: probe.number,
            sent: AtomicU64::new(0),
            sending_over: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        }
    }

    fn intended_ns(&self, nth: usize) -> u64 {
        self.base_ns.saturating_add(self.due[nth])
    }

    fn is_over(&self) -> bool {
        self.signals.is_stopped() || self.broken.load(Acquire)
    }

    fn give_up(&self) {
        self.broken.store(true, Release);
        if let DataSocket::Tcp(stream) = self.socket {
            // A sender waiting for room would wait for ever.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Sends messages when they are due, and records how late each left and which were refused.
    fn send(
        &self,
        message: &mut [u8],
        late: &mut Vec<u64>,
        refused: &mut RefusedMessages,
    ) -> io::Result<()> {
        for nth in 0..self.due.len() {
            let intended = self.intended_ns(nth);
            self.sleep_until(intended.saturating_sub(self.early_ns));
            if self.is_over() {
                return Ok(());
            }
            let mut now = monotonic_ns();
            while now < intended {
                std::hint::spin_loop();
                now = monotonic_ns();
            }
            let number = self.first + nth as u64;
            self.sent.store(nth as u64 + 1, Release);
            late.push(now - intended);
            match self.socket {
                DataSocket::Tcp(stream) => {
                    let mut stream = stream;
                    stream.write_all(message)?;
                }
                DataSocket::Udp(socket) => {
                    let stamps = Stamps {
                        number,
                        sent_ns: now,
                        ..Stamps::default()
                    };
                    if !stamps.write(message) {
                        write_number(message, number);
                    }
                    match send_udp(socket, message) {
                        Ok(_) => refused.sent(),
                        Err(cause) => {
                            refused.not_sent(cause, nth > 0)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Sleeps until `at_ns`, or until all is over.
    fn sleep_until(&self, at_ns: u64) {
        loop {
            let now = monotonic_ns();
            if now >= at_ns || self.is_over() {
                return;
            }
            sleep_until(at_ns.min(now + MAX_SLEEP_NS));
        }
    }
}

/// The replies as they arrive while messages are being sent.
struct Collector<'a> {
    schedule: &'a Schedule<'a>,
    timeout_ns: u64,
    replies: Vec<Reply>,
    one_way: Vec<Option<OneWayTransit>>,
    /// Takes an event for each reply, with times after this start, ns of the monotonic clock.
    events: Option<(Sender<Event>, u64)>,
    client: u32,
    slowest: SlowestRoundTrips,
    accounts: KernelAccounts,
    /// Takes the time of each reply, ns of the monotonic clock.
    heard_ns: Arc<AtomicU64>,
    /// The number of messages of which nothing more is expected.
    settled: u64,
    /// The number of messages, the oldest first, whose time for a reply is over; the live view alone needs it.
    given_up: usize,
    /// Takes each reply for the live view, where there is one.
    feed: Option<Arc<ReplyFeed>>,
    marks: MarkCounter,
    late: u64,
    duplicate: u64,
    size: usize,
    buffer: &'a mut [u8],
    /// Bytes of a TCP reply that are there already.
    filled: usize,
}

impl Collector<'_> {
    /// Receives until every message is answered, or the time of the last is over.
    fn collect(&mut self) -> io::Result<()> {
        let schedule = self.schedule;
        while !schedule.is_over() {
            // In this order: the number sent is final once sending is over.
            let over = schedule.sending_over.load(Acquire);
            let departed = schedule.sent.load(Acquire);
            if over {
                let last_ns = departed
                    .checked_sub(1)
                    .map_or(0, |last| schedule.intended_ns(last as usize));
                let given_up = monotonic_ns() >= last_ns.saturating_add(self.timeout_ns);
                match schedule.socket {
                    _ if self.settled == departed => return Ok(()),
                    DataSocket::Udp(_) if given_up => return Ok(()),
                    // Later replies would be taken for replies to the next size's messages.
                    DataSocket::Tcp(_) if given_up => return Err(ErrorKind::TimedOut.into()),
                    _ => {}
                }
            }
            let mut tos = None;
            let received = match schedule.socket {
                DataSocket::Tcp(stream) => {
                    let mut stream = stream;
                    stream.read(&mut self.buffer[self.filled..self.size])
                }
                DataSocket::Udp(socket) => {
                    receive_with_tos(socket, self.buffer).map(|(length, received)| {
                        tos = received;
                        length
                    })
                }
            };
            let now = monotonic_ns();
            // A message may have left meanwhile.
            let departed = schedule.sent.load(Acquire);
            self.give_up_overdue(departed, now);
            match (received, schedule.socket) {
                (Ok(0), _) if schedule.signals.is_stopped() => return Ok(()),
                (Ok(0), DataSocket::Tcp(_)) => return Err(ErrorKind::UnexpectedEof.into()),
                (Ok(length), DataSocket::Tcp(_)) => {
                    self.filled += length;
                    if self.filled == self.size {
                        self.filled = 0;
                        if self.settled >= departed {
                            return Err(altered());
                        }
                        // Replies come in the order of the messages.
                        self.take(self.settled as usize, now);
                        self.settled += 1;
                    }
                }
                (Ok(length), DataSocket::Udp(_)) => self.take_datagram(length, departed, now, tos),
                (Err(cause), _) if is_retryable(&cause) || is_too_large(&cause) => {}
                (Err(cause), _) => return Err(cause),
            }
        }
        Ok(())
    }

    /// Tells the live view of the messages that have had their time.
    fn give_up_overdue(&mut self, departed: u64, now: u64) {
        let Some(feed) = &self.feed else { return };
        while (self.given_up as u64) < departed
            && self
                .schedule
                .intended_ns(self.given_up)
                .saturating_add(self.timeout_ns)
                < now
        {
            // The first message counts apart.
            if self.replies[self.given_up] == Reply::LOST && self.given_up > 0 {
                feed.lost();
            }
            self.given_up += 1;
        }
    }

    /// Adds the replies to the series of the messages that left, whose lateness is `late`. Messages still under way when the
    /// test ends are not lost, unless they have waited for far longer than any reply took.
    fn record(self, mut late: Vec<u64>, series: &mut EchoSeries, start_ns: u64) {
        let schedule = self.schedule;
        let now = monotonic_ns();
        let longest_ns = longest_ns(&self.replies);
        let is_under_way = |nth: usize| {
            let waited_ns = now.saturating_sub(schedule.intended_ns(nth));
            self.replies[nth] == Reply::LOST
                && waited_ns < self.timeout_ns
                && !is_unanswered(waited_ns, longest_ns)
        };
        while late.last().is_some_and(|_| is_under_way(late.len() - 1)) {
            late.pop();
        }
        let counted = 1.min(late.len())..late.len();
        series.late = self.late;
        series.duplicate = self.duplicate;
        series.marks = self.marks;
        series.slowest = self.slowest;
        series.first = late.first().map(|_| self.replies[0]);
        series
            .replies
            .extend_from_slice(&self.replies[counted.clone()]);
        series.departures = counted
            .map(|nth| Departure {
                intended_ns: schedule.intended_ns(nth).saturating_sub(start_ns),
                late_ns: late[nth],
                one_way: self.one_way[nth],
            })
            .collect();
    }

    fn take_datagram(&mut self, length: usize, departed: u64, now: u64, tos: Option<u8>) {
        let datagram = &self.buffer[..length];
        if length == OPENING_BYTES && OpeningDatagram::decode(datagram).is_some() {
            return;
        }
        let first = self.schedule.first;
        let nth = match departed.checked_sub(1) {
            Some(latest) if length == self.size => number_up_to(datagram, first + latest),
            _ => None,
        };
        let Some(nth) = nth.and_then(|number| number.checked_sub(first)) else {
            // It belongs to an earlier size, whose wait is over.
            self.late += 1;
            return;
        };
        if let Some(tos) = tos {
            self.marks.add(tos, 1);
        }
        let one_way = Stamps::read(datagram).map(|stamps| OneWayTransit {
            up_ns: (stamps.received_ns as i64).wrapping_sub(stamps.sent_ns as i64),
            down_ns: (now as i64).wrapping_sub(stamps.replied_ns as i64),
        });
        if self.take(nth as usize, now) {
            self.settled += 1;
            self.one_way[nth as usize] = one_way;
        }
    }

    /// Takes the reply to message `nth`; `false` when it is late or a duplicate.
    fn take(&mut self, nth: usize, now: u64) -> bool {
        let took = now.saturating_sub(self.schedule.intended_ns(nth));
        if self.replies[nth] != Reply::LOST {
            self.duplicate += 1;
            return false;
        }
        if took > self.timeout_ns {
            self.late += 1;
            return false;
        }
        self.replies[nth] = Reply::after(took);
        self.heard_ns.store(now, Relaxed);
        if let Some((events, start_ns)) = &self.events {
            // The test does not depend on anybody receiving the event.
            let _ = events.send(Event::Replied(ProbeReply {
                flow: self.client,
                message: nth as u64,
                due_ns: self.schedule.intended_ns(nth).saturating_sub(*start_ns),
                rtt_ns: took,
            }));
        }
        if let Some(feed) = self.feed.as_ref().filter(|_| nth > 0) {
            feed.reply(took);
        }
        if took > self.slowest.floor_ns() {
            self.keep_slow(nth, now);
        }
        true
    }

    /// Keeps a round trip that is among the longest.
    #[cold]
    fn keep_slow(&mut self, nth: usize, now: u64) {
        let times = RoundTripTimes {
            began: self.schedule.intended_ns(nth),
            read: now,
        };
        let account = match self.schedule.socket {
            DataSocket::Tcp(stream) => self.accounts.tcp(stream, times, Messages::Several),
            DataSocket::Udp(socket) => KernelAccounts::udp(socket, times),
        };
        self.slowest.keep(SlowRoundTrip {
            message: nth as u64,
            rtt_ns: times.rtt_ns(),
            account,
        });
    }
}
