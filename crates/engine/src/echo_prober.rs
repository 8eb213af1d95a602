//! One connection of an echo test: sends messages, times what comes back.
//!
//! Stop-and-wait, a message leaves when the reply to the one before is in; between the two readings of the
//! clock there is a send and a receive and nothing else. On a schedule messages leave when they are due,
//! whatever comes back, and their round trips count from then: a stall shows in every message that it
//! delayed, not in one (Tene, "How NOT to Measure Latency").

use crate::carrier::Link;
use crate::counters::Orders;
use crate::socket::not_yet;
use caudal_core::echo::{
    Departure, DepartureProcess, EchoSeries, OneWayTransit, Reply, StampedRoundTrip,
    departure_times,
};
use caudal_core::event::{Event, SizeProgress};
use caudal_core::plan::{EchoPlan, EchoSchedule};
use caudal_sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until};
use caudal_sys::timestamps;
use caudal_wire::datagram::{OPENING, Opening, fill_payload};
use caudal_wire::echo::{
    ANNOUNCEMENT, Announcement, Stamps, carries_number, number_up_to, write_number,
};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;
use std::time::Duration;

/// For how many counted messages one more is sent that the kernel stamps.
const PER_STAMP: u64 = 16;
/// How long the kernel may take to begin to stamp.
const BEFORE_STAMPS: Duration = Duration::from_millis(1);
/// How long a scheduled receive waits before it looks whether all is over.
const LOOK_UP: Duration = Duration::from_millis(20);
/// How long before a message is due its thread wakes up, at most, ns: timers are late by tens of µs.
const EARLY_NS: u64 = 100_000;
/// The longest a thread sleeps before it looks whether it is to end, ns.
const NAP_NS: u64 = 50_000_000;
/// Bytes more than a datagram may have, so that longer ones are seen to be longer.
const ROOM: usize = 1;

/// One connection's thread.
pub(crate) struct Prober {
    client: u32,
    plan: Arc<EchoPlan>,
    link: Arc<Link>,
    orders: Arc<Orders>,
    seed: u64,
    /// Whether some more messages are sent that the kernel stamps.
    pub(crate) stamps: bool,
    /// What was measured, one for each size done so far and all allocated before the start.
    pub(crate) series: Vec<EchoSeries>,
    sizes_done: usize,
    message: Vec<u8>,
    reply: Vec<u8>,
    /// The number of the next message.
    number: u64,
}

/// Why a connection ends before its time; the text is for people.
type Failure = String;

impl Prober {
    pub(crate) fn new(
        client: u32,
        plan: Arc<EchoPlan>,
        link: Arc<Link>,
        orders: Arc<Orders>,
        tag: u32,
        seed: u64,
    ) -> Self {
        let largest = plan.sizes.iter().max().copied().unwrap_or(1) as usize;
        let mut message = vec![0; largest];
        fill_payload(&mut message, tag);
        let series = plan
            .sizes
            .iter()
            .map(|size| EchoSeries {
                client,
                size: *size,
                replies: Vec::with_capacity(plan.count as usize),
                ..EchoSeries::default()
            })
            .collect();
        Self {
            client,
            link,
            orders,
            seed: seed.wrapping_add(u64::from(client) << 32),
            stamps: false,
            series,
            sizes_done: 0,
            message,
            reply: vec![0; largest + ROOM],
            plan,
            number: 0,
        }
    }

    /// Measures the next size; `None` when there is none, or the test is being ended.
    pub(crate) fn next_size(&mut self, start_ns: u64) -> Result<Option<Event>, Failure> {
        let link = Arc::clone(&self.link);
        if self.sizes_done == self.series.len() || self.orders.stopped() {
            return Ok(None);
        }
        let mut series = std::mem::take(&mut self.series[self.sizes_done]);
        let size = series.size as usize;
        let done = match (&*link, self.plan.schedule) {
            (Link::Tcp(stream), EchoSchedule::StopAndWait) => self.wait_tcp(stream, &mut series),
            (Link::Udp(socket), EchoSchedule::StopAndWait) => self.wait_udp(socket, &mut series),
            (link, EchoSchedule::Every { period, poisson }) => {
                self.scheduled(link, &mut series, period, poisson, start_ns)
            }
        };
        let (replies, sum) = series
            .replies
            .iter()
            .filter_map(|reply| reply.ns())
            .fold((0_u64, 0_u64), |(n, sum), ns| {
                (n + 1, sum.saturating_add(ns))
            });
        self.series[self.sizes_done] = series;
        self.sizes_done += 1;
        match done {
            _ if self.orders.stopped() => Ok(None),
            Err(cause) => Err(self.failure(&cause)),
            Ok(()) => Ok(Some(Event::Size(SizeProgress {
                client: self.client,
                size_bytes: size as u32,
                replies: replies as usize,
                mean_us: sum as f64 / replies.max(1) as f64 / 1e3,
            }))),
        }
    }

    fn failure(&self, cause: &io::Error) -> Failure {
        let client = self.client;
        match cause.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                let seconds = self.plan.timeout.as_secs_f64();
                format!("connection {client} had no reply for {seconds} s")
            }
            ErrorKind::UnexpectedEof => format!("the server closed connection {client}"),
            _ => format!("connection {client}: {cause}"),
        }
    }

    fn wait_tcp(&mut self, stream: &TcpStream, series: &mut EchoSeries) -> io::Result<()> {
        let count = 1 + self.plan.count;
        announce(
            stream,
            Announcement {
                size: series.size,
                count,
            },
            &self.plan,
        )?;
        let size = series.size as usize;
        let (message, reply) = (&self.message[..size], &mut self.reply[..size]);
        series.first = Some(Reply::after(tcp_round_trip(stream, message, reply)?));
        if message != reply {
            return Err(altered());
        }
        for _ in 0..self.plan.count {
            let took = tcp_round_trip(stream, message, reply)?;
            series.replies.push(Reply::after(took));
            if self.orders.stopped() {
                return Ok(());
            }
        }
        if self.stamps {
            // After the others and not among them, so that stamping slows none of them down.
            let count = self.plan.count.div_ceil(PER_STAMP);
            announce(
                stream,
                Announcement {
                    size: series.size,
                    count,
                },
                &self.plan,
            )?;
            timestamps::enable(stream)?;
            thread::sleep(BEFORE_STAMPS);
            for _ in 0..count {
                series.stamped.extend(tcp_stamped(stream, message, reply)?);
            }
            timestamps::disable(stream)?;
        }
        Ok(())
    }

    fn wait_udp(&mut self, socket: &UdpSocket, series: &mut EchoSeries) -> io::Result<()> {
        socket.set_read_timeout(Some(self.plan.timeout))?;
        let size = series.size as usize;
        let first = self.number;
        let mut compare = true;
        for nth in 0..=self.plan.count as usize {
            let reply = self.udp_round_trip(socket, series, first)?;
            if self.orders.stopped() && reply == Reply::LOST {
                break;
            }
            if nth == 0 {
                series.first = Some(reply);
            } else {
                series.replies.push(reply);
            }
            if compare && reply != Reply::LOST {
                compare = false;
                if self.message[..size] != self.reply[..size] {
                    return Err(altered());
                }
            }
        }
        if self.stamps && !self.orders.stopped() {
            timestamps::enable(socket)?;
            thread::sleep(BEFORE_STAMPS);
            for _ in 0..self.plan.count.div_ceil(PER_STAMP) {
                series.stamped.extend(self.udp_stamped(socket, size)?);
                if self.orders.stopped() {
                    break;
                }
            }
            timestamps::disable(socket)?;
        }
        Ok(())
    }

    /// Sends one message and waits for its reply; `first` is the number of the size's first message.
    fn udp_round_trip(
        &mut self,
        socket: &UdpSocket,
        series: &mut EchoSeries,
        first: u64,
    ) -> io::Result<Reply> {
        let size = series.size as usize;
        let number = self.number;
        self.number += 1;
        let message = &mut self.message[..size];
        write_number(message, number);
        let left = monotonic_ns();
        if let Err(cause) = socket.send(message) {
            return not_sent(cause);
        }
        loop {
            let received = socket.recv(&mut self.reply);
            let now = monotonic_ns();
            match received {
                Ok(length) if length == size && carries_number(&self.reply[..size], number) => {
                    return Ok(Reply::after(now - left));
                }
                Ok(length) if length > 0 => {
                    note_stray(
                        &self.reply[..length],
                        series,
                        first,
                        number.saturating_sub(1),
                    );
                }
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return Ok(Reply::LOST),
                Err(cause) if cause.kind() != ErrorKind::Interrupted => return Err(cause),
                _ => {}
            }
            if self.orders.stopped() || now - left >= self.plan.timeout.as_nanos() as u64 {
                return Ok(Reply::LOST);
            }
        }
    }

    /// One more message that the kernel stamps; `None` when a stamp or the reply is missing.
    fn udp_stamped(
        &mut self,
        socket: &UdpSocket,
        size: usize,
    ) -> io::Result<Option<StampedRoundTrip>> {
        let number = self.number;
        self.number += 1;
        let message = &mut self.message[..size];
        write_number(message, number);
        let left = monotonic_ns();
        if let Err(cause) = timestamps::send_stamped(socket, message) {
            return not_sent(cause).map(|_| None);
        }
        let until = left + self.plan.timeout.as_nanos() as u64;
        while monotonic_ns() < until && !self.orders.stopped() {
            match timestamps::receive_stamped(socket, &mut self.reply) {
                Ok((length, arrived)) => {
                    let now = monotonic_ns();
                    if length == size && carries_number(&self.reply[..size], number) {
                        let departed = timestamps::transmit_stamp(socket);
                        return Ok(split(now - left, departed, arrived));
                    }
                }
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        let _ = timestamps::transmit_stamp(socket);
        Ok(None)
    }

    /// Sends one size's messages when they are due, while another thread takes the replies in.
    fn scheduled(
        &mut self,
        link: &Link,
        series: &mut EchoSeries,
        period: Duration,
        poisson: bool,
        start_ns: u64,
    ) -> io::Result<()> {
        let size = series.size as usize;
        let count = 1 + self.plan.count;
        match link {
            Link::Tcp(stream) => {
                announce(
                    stream,
                    Announcement {
                        size: series.size,
                        count,
                    },
                    &self.plan,
                )?;
                stream.set_read_timeout(Some(LOOK_UP))?;
                // The sender may have to wait for room, which shows in how late messages leave.
                stream.set_write_timeout(None)?;
            }
            Link::Udp(socket) => socket.set_read_timeout(Some(LOOK_UP))?,
        }
        let _ = set_timer_slack_ns(1);
        let period_ns = period.as_nanos() as u64;
        // Spread over a period, connections do not stand in one another's way each time.
        let share = u64::from(self.client) * period_ns / u64::from(self.plan.clients);
        let process = if poisson {
            DepartureProcess::Poisson {
                seed: self.seed.wrapping_add(self.sizes_done as u64),
            }
        } else {
            DepartureProcess::Periodic
        };
        let schedule = Schedule {
            link,
            orders: &self.orders,
            due: departure_times(period, process, count),
            base_ns: monotonic_ns() + EARLY_NS + if poisson { 0 } else { share },
            early_ns: EARLY_NS.min(period_ns / 4),
            first: self.number,
            sent: AtomicU64::new(0),
            sending_over: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        };
        let mut late = Vec::with_capacity(schedule.due.len());
        let mut replies = Collector {
            schedule: &schedule,
            timeout_ns: self.plan.timeout.as_nanos() as u64,
            replies: vec![Reply::LOST; schedule.due.len()],
            ways: vec![None; schedule.due.len()],
            settled: 0,
            late: 0,
            duplicate: 0,
            size,
            buffer: &mut self.reply,
            filled: 0,
        };
        let message = &mut self.message[..size];
        let (sending, receiving) = thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let received = replies.collect();
                if received.is_err() {
                    schedule.give_up();
                }
                received
            });
            let sending = schedule.send(message, &mut late);
            schedule.sending_over.store(true, Release);
            let receiving = receiver.join().unwrap_or_else(|_| {
                Err(io::Error::other(
                    "its receiving thread ended in an error of the program",
                ))
            });
            (sending, receiving)
        });
        self.number += count;
        // What is still under way when the test is ended early is not lost.
        let now = monotonic_ns();
        let is_under_way = |nth: usize| {
            let given_up = schedule.intended_ns(nth).saturating_add(replies.timeout_ns);
            replies.replies[nth] == Reply::LOST && now < given_up
        };
        while late.last().is_some_and(|_| is_under_way(late.len() - 1)) {
            late.pop();
        }
        let counted = 1.min(late.len())..late.len();
        series.late = replies.late;
        series.duplicate = replies.duplicate;
        series.first = late.first().map(|_| replies.replies[0]);
        series
            .replies
            .extend_from_slice(&replies.replies[counted.clone()]);
        series.departures = counted
            .map(|nth| Departure {
                intended_ns: schedule.intended_ns(nth).saturating_sub(start_ns),
                late_ns: late[nth],
                one_way: replies.ways[nth],
            })
            .collect();
        // What failed to arrive tells more than what failed to leave after it.
        receiving.and(sending)
    }
}

/// Tells the server what follows, and waits until it is ready for it.
///
/// Without its answer the announcement would be under way with the first message, which Nagle's
/// algorithm would hold back until the server acknowledged.
fn announce(mut stream: &TcpStream, what: Announcement, plan: &EchoPlan) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(plan.timeout))?;
    stream.set_write_timeout(Some(plan.timeout))?;
    stream.write_all(&what.encode())?;
    let mut answer = [0; ANNOUNCEMENT];
    stream.read_exact(&mut answer)?;
    if answer != what.encode() {
        return Err(altered());
    }
    stream.set_nodelay(plan.no_delay)
}

/// Sends, receives the whole reply, and tells how long that took, ns.
#[inline]
fn tcp_round_trip(mut stream: &TcpStream, message: &[u8], reply: &mut [u8]) -> io::Result<u64> {
    let left = monotonic_ns();
    stream.write_all(message)?;
    stream.read_exact(reply)?;
    Ok(monotonic_ns() - left)
}

/// As a round trip, with the kernel's stamps; `None` when one is missing.
fn tcp_stamped(
    mut stream: &TcpStream,
    message: &[u8],
    reply: &mut [u8],
) -> io::Result<Option<StampedRoundTrip>> {
    let left = monotonic_ns();
    let sent = match timestamps::send_stamped(stream, message) {
        Ok(sent) => sent,
        Err(cause) if cause.kind() == ErrorKind::Interrupted => 0,
        Err(cause) => return Err(cause),
    };
    stream.write_all(&message[sent..])?;
    let mut filled = 0;
    let mut arrived = None;
    while filled < reply.len() {
        match timestamps::receive_stamped(stream, &mut reply[filled..]) {
            Ok((0, _)) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok((length, stamp)) => {
                filled += length;
                arrived = stamp;
            }
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    let took = monotonic_ns() - left;
    let departed = timestamps::transmit_stamp(stream);
    // The stamp is that of the bytes the first call took.
    Ok(if sent == message.len() {
        split(took, departed, arrived)
    } else {
        None
    })
}

/// `None` when a stamp is missing, or the wall clock was set between the two.
fn split(rtt_ns: u64, departed: Option<u64>, arrived: Option<u64>) -> Option<StampedRoundTrip> {
    let kernel_ns = arrived?.checked_sub(departed?)?;
    (kernel_ns <= rtt_ns).then_some(StampedRoundTrip { rtt_ns, kernel_ns })
}

fn altered() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "the reply differs from the message")
}

/// What a refused send means: a message lost in this host's own queue, or the end of the connection.
fn not_sent(cause: io::Error) -> io::Result<Reply> {
    match (cause.kind(), cause.raw_os_error()) {
        (ErrorKind::WouldBlock | ErrorKind::Interrupted, _) | (_, Some(libc::ENOBUFS)) => {
            thread::sleep(Duration::from_millis(1));
            Ok(Reply::LOST)
        }
        _ => Err(cause),
    }
}

/// Counts a datagram that is not the reply waited for, to message `latest` or an earlier one.
#[cold]
fn note_stray(datagram: &[u8], series: &mut EchoSeries, first: u64, latest: u64) {
    if Opening::decode(datagram).is_some() {
        return;
    }
    let is_of_this_size = datagram.len() == series.size as usize;
    let number = number_up_to(datagram, latest).filter(|_| is_of_this_size);
    let reply = number
        .and_then(|number| number.checked_sub(first))
        .and_then(|nth| {
            nth.checked_sub(1).map_or(series.first, |nth| {
                series.replies.get(nth as usize).copied()
            })
        });
    match reply {
        Some(reply) if reply != Reply::LOST => series.duplicate += 1,
        // Of an earlier size, it had been waited for to the end.
        _ => series.late += 1,
    }
}

/// One size's schedule, shared by the thread that sends and the one that receives.
struct Schedule<'a> {
    link: &'a Link,
    orders: &'a Orders,
    /// When each message is due, ns after the first could leave.
    due: Vec<u64>,
    /// When the first could leave, ns of the monotonic clock.
    base_ns: u64,
    early_ns: u64,
    /// The number of the first message.
    first: u64,
    /// Messages that have left, or are about to.
    sent: AtomicU64,
    sending_over: AtomicBool,
    /// Nothing can be received any more.
    broken: AtomicBool,
}

impl Schedule<'_> {
    fn intended_ns(&self, nth: usize) -> u64 {
        self.base_ns.saturating_add(self.due[nth])
    }

    fn is_over(&self) -> bool {
        self.orders.stopped() || self.broken.load(Acquire)
    }

    fn give_up(&self) {
        self.broken.store(true, Release);
        if let Link::Tcp(stream) = self.link {
            // A sender waiting for room would wait for ever.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Sends messages when they are due, and notes how late each left.
    fn send(&self, message: &mut [u8], late: &mut Vec<u64>) -> io::Result<()> {
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
            match self.link {
                Link::Tcp(stream) => {
                    let mut stream = stream;
                    stream.write_all(message)?;
                }
                Link::Udp(socket) => {
                    let stamps = Stamps {
                        number,
                        sent_ns: now,
                        ..Stamps::default()
                    };
                    if !stamps.write(message) {
                        write_number(message, number);
                    }
                    if let Err(cause) = socket.send(message) {
                        not_sent(cause)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Sleeps until a moment, or until all is over.
    fn sleep_until(&self, at_ns: u64) {
        loop {
            let now = monotonic_ns();
            if now >= at_ns || self.is_over() {
                return;
            }
            sleep_until(at_ns.min(now + NAP_NS));
        }
    }
}

/// Takes replies in while messages are being sent.
struct Collector<'a> {
    schedule: &'a Schedule<'a>,
    timeout_ns: u64,
    replies: Vec<Reply>,
    ways: Vec<Option<OneWayTransit>>,
    /// Messages that nothing more is expected of.
    settled: u64,
    late: u64,
    duplicate: u64,
    size: usize,
    buffer: &'a mut [u8],
    /// Bytes of a TCP reply that are there already.
    filled: usize,
}

impl Collector<'_> {
    /// Until every message is answered, or the last one's time is over.
    fn collect(&mut self) -> io::Result<()> {
        let schedule = self.schedule;
        while !schedule.is_over() {
            // In this order: what was sent is complete once sending is over.
            let over = schedule.sending_over.load(Acquire);
            let departed = schedule.sent.load(Acquire);
            if over {
                let last_ns = departed
                    .checked_sub(1)
                    .map_or(0, |last| schedule.intended_ns(last as usize));
                let given_up = monotonic_ns() >= last_ns.saturating_add(self.timeout_ns);
                match schedule.link {
                    _ if self.settled == departed => return Ok(()),
                    Link::Udp(_) if given_up => return Ok(()),
                    // Later replies would be taken for those to the next size's messages.
                    Link::Tcp(_) if given_up => return Err(ErrorKind::TimedOut.into()),
                    _ => {}
                }
            }
            let received = match schedule.link {
                Link::Tcp(stream) => {
                    let mut stream = stream;
                    stream.read(&mut self.buffer[self.filled..self.size])
                }
                Link::Udp(socket) => socket.recv(self.buffer),
            };
            let now = monotonic_ns();
            // A message may have left meanwhile.
            let departed = schedule.sent.load(Acquire);
            match (received, schedule.link) {
                (Ok(0), _) if schedule.orders.stopped() => return Ok(()),
                (Ok(0), Link::Tcp(_)) => return Err(ErrorKind::UnexpectedEof.into()),
                (Ok(length), Link::Tcp(_)) => {
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
                (Ok(length), Link::Udp(_)) => self.take_datagram(length, departed, now),
                (Err(cause), _) if not_yet(&cause) => {}
                (Err(cause), _) => return Err(cause),
            }
        }
        Ok(())
    }

    fn take_datagram(&mut self, length: usize, departed: u64, now: u64) {
        let datagram = &self.buffer[..length];
        if length == OPENING && Opening::decode(datagram).is_some() {
            return;
        }
        let first = self.schedule.first;
        let nth = match departed.checked_sub(1) {
            Some(latest) if length == self.size => number_up_to(datagram, first + latest),
            _ => None,
        };
        let Some(nth) = nth.and_then(|number| number.checked_sub(first)) else {
            // Of an earlier size, it had been waited for to the end.
            self.late += 1;
            return;
        };
        let way = Stamps::read(datagram).map(|stamps| OneWayTransit {
            up_ns: (stamps.received_ns as i64).wrapping_sub(stamps.sent_ns as i64),
            down_ns: (now as i64).wrapping_sub(stamps.answered_ns as i64),
        });
        if self.take(nth as usize, now) {
            self.settled += 1;
            self.ways[nth as usize] = way;
        }
    }

    /// Takes the reply to message `nth` in; `false` when it is late or comes again.
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
        true
    }
}
