//! One direction of one connection: the thread that carries it, its counters, and what they amount to.

use crate::bell::Ringer;
use crate::carrier::Link;
use crate::counters::{FlowCounters, Orders};
use crate::tcp;
use caudal_core::sample::{Role, TcpSnapshot};
use caudal_sys::clock::{monotonic_ns, set_timer_slack_ns};
use caudal_wire::iperf2::Way;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const STACK: usize = 512 << 10;

/// What the kernel knew of a TCP connection when it was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Segment size, bytes.
    pub mss: u32,
    /// Round-trip time of the handshake, µs.
    pub rtt_us: u32,
}

/// What is known of a leg from its beginning.
#[derive(Debug, Clone)]
pub struct LegInfo {
    /// The connection's number, from 1.
    pub number: u32,
    /// Whether this end sends or receives.
    pub role: Role,
    /// Whether it goes the way that is not the connection's own: shown with a star.
    pub back: bool,
    /// Whether over UDP.
    pub udp: bool,
    /// This end's address.
    pub local: SocketAddr,
    /// The other end's.
    pub peer: SocketAddr,
    /// What the client asked for.
    pub way: Way,
    /// Legs with the same number are added up.
    pub group: u64,
    /// Legs in that group.
    pub members: u32,
    /// The socket's number in this process.
    pub socket: i32,
    /// The other end's version, where it says.
    pub version: Option<String>,
    /// How long connecting took.
    pub connecting: Option<Duration>,
    /// TCP as it began.
    pub opened: Option<Opened>,
    /// Whether no last report is sent or awaited.
    pub no_udp_fin: bool,
    /// Whether one-way times are measured.
    pub trip_times: bool,
    /// The TOS byte.
    pub tos: u8,
}

/// One-way times.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// Mean, s.
    pub mean_s: f64,
    /// Least, s.
    pub min_s: f64,
    /// Most, s.
    pub max_s: f64,
    /// Sum of squared differences from the mean, s².
    pub m2: f64,
}

impl Latency {
    /// Takes one in.
    pub fn push(&mut self, seconds: f64) {
        if self.count == 0 {
            (self.min_s, self.max_s) = (seconds, seconds);
        }
        self.count += 1;
        let off = seconds - self.mean_s;
        self.mean_s += off / self.count as f64;
        self.m2 += off * (seconds - self.mean_s);
        self.min_s = self.min_s.min(seconds);
        self.max_s = self.max_s.max(seconds);
    }

    /// The sample standard deviation, s.
    #[must_use]
    pub fn deviation_s(&self) -> f64 {
        if self.count > 1 {
            (self.m2 / (self.count - 1) as f64).sqrt()
        } else {
            0.0
        }
    }
}

/// What a receiver of datagrams has to say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UdpFigures {
    /// Jitter, ms.
    pub jitter_ms: f64,
    /// Datagrams missing.
    pub lost: i64,
    /// Datagrams in all, the missing ones included.
    pub total: u64,
    /// Datagrams that came after a later one.
    pub out_of_order: u64,
    /// One-way times.
    pub latency: Latency,
}

/// What a leg moved in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// The span's beginning, s after the leg's.
    pub start_s: f64,
    /// The span's end.
    pub end_s: f64,
    /// Bytes.
    pub bytes: u64,
    /// Datagrams that left (UDP sender).
    pub datagrams: u64,
    /// System calls.
    pub calls: u64,
    /// Calls that failed.
    pub errors: u64,
    /// Segments sent again (TCP sender).
    pub retransmits: u64,
    /// TCP as it stands (TCP sender).
    pub tcp: Option<TcpSnapshot>,
    /// How large reads were, in eighths of the buffer (TCP receiver).
    pub reads: [u64; 8],
    /// The account of datagrams (UDP receiver).
    pub udp: Option<UdpFigures>,
}

impl Figures {
    /// Bits a second; zero when no time passed.
    #[must_use]
    pub fn bps(&self) -> f64 {
        let took = self.end_s - self.start_s;
        if took > 0.0 {
            self.bytes as f64 * 8.0 / took
        } else {
            0.0
        }
    }
}

/// What a leg's thread keeps beside the counters every flow has.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// One-way times of the whole test and of the interval.
    pub latency: Mutex<(Latency, Latency)>,
    /// Reads by size.
    pub reads: Mutex<[u64; 8]>,
    /// Datagrams in all, as the sender's last one says, plus one; 0 before.
    pub announced_plus_one: std::sync::atomic::AtomicU64,
    /// The other end's report.
    pub reported: Mutex<Option<caudal_wire::iperf2::ServerReport>>,
    /// Tries to get it that failed.
    pub unreported: std::sync::atomic::AtomicU32,
    /// When the leg's last byte moved and nothing more was due, ns; 0 before.
    pub ended_ns: std::sync::atomic::AtomicU64,
}

/// What was read of a leg at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    at_s: f64,
    bytes: u64,
    datagrams: u64,
    calls: u64,
    errors: u64,
    retransmits: u64,
    reads: [u64; 8],
    lost: u64,
    total: u64,
    out_of_order: u64,
}

/// A leg that is carried by a thread.
pub(super) struct Leg {
    pub info: Arc<LegInfo>,
    pub counters: Arc<FlowCounters>,
    pub orders: Arc<Orders>,
    pub notes: Arc<Notes>,
    pub link: Arc<Link>,
    /// Bytes that moved before the thread began: the header.
    pub base: u64,
    pub start_ns: u64,
    thread: Option<JoinHandle<io::Result<()>>>,
    last: Reading,
    pub over: bool,
    pub failure: Option<String>,
}

/// What a leg's thread does.
pub(super) type Carry = Box<dyn FnOnce(&Work) -> io::Result<()> + Send>;

/// What it does on a link of TCP.
pub(super) fn over_tcp(
    carry: impl FnOnce(&TcpStream, &Work) -> io::Result<()> + Send + 'static,
) -> Carry {
    Box::new(move |work| match &*work.link {
        Link::Tcp(stream) => carry(stream, work),
        Link::Udp(_) => Ok(()),
    })
}

/// What it does on a link of UDP.
pub(super) fn over_udp(
    carry: impl FnOnce(&UdpSocket, &Work) -> io::Result<()> + Send + 'static,
) -> Carry {
    Box::new(move |work| match &*work.link {
        Link::Udp(socket) => carry(socket, work),
        Link::Tcp(_) => Ok(()),
    })
}

/// What a leg's thread works with.
pub(super) struct Work {
    pub counters: Arc<FlowCounters>,
    pub orders: Arc<Orders>,
    pub notes: Arc<Notes>,
    pub link: Arc<Link>,
}

impl Leg {
    /// Puts a thread on the leg; `ringer` is rung when it ends.
    pub fn start(
        info: LegInfo,
        link: Arc<Link>,
        base: u64,
        start_ns: u64,
        mut ringer: Ringer,
        carry: Carry,
    ) -> io::Result<Self> {
        let work = Work {
            counters: Arc::new(FlowCounters::default()),
            orders: Arc::new(Orders::default()),
            notes: Arc::new(Notes::default()),
            link: Arc::clone(&link),
        };
        let (counters, orders, notes) = (
            Arc::clone(&work.counters),
            Arc::clone(&work.orders),
            Arc::clone(&work.notes),
        );
        let thread = thread::Builder::new()
            .name(format!("iperf {}", info.number))
            .stack_size(STACK)
            .spawn(move || {
                work.counters.claim();
                let _ = set_timer_slack_ns(1);
                let outcome = carry(&work);
                let _ = work
                    .notes
                    .ended_ns
                    .compare_exchange(0, monotonic_ns(), Relaxed, Relaxed);
                work.counters.release();
                work.orders.over.store(true, Relaxed);
                ringer.ring();
                outcome
            })?;
        Ok(Self {
            info: Arc::new(info),
            counters,
            orders,
            notes,
            link,
            base,
            start_ns,
            thread: Some(thread),
            last: Reading::default(),
            over: false,
            failure: None,
        })
    }

    /// Tells the leg to end; a sender finishes what it has begun.
    pub fn stop(&self) {
        self.orders.stop.store(true, Relaxed);
        match &*self.link {
            Link::Tcp(stream) if super::sends(self.info.role) => {
                let _ = caudal_sys::tcp::shutdown_write(stream);
            }
            Link::Tcp(stream) => {
                let _ = stream.shutdown(Shutdown::Read);
            }
            Link::Udp(_) => {}
        }
    }

    /// Tells the leg to end at once.
    pub fn abort(&self) {
        self.orders.stop.store(true, Relaxed);
        self.orders.expected_plus_one.store(1, Relaxed);
        if let Link::Tcp(stream) = &*self.link {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Takes the thread's outcome in, if it has ended; whether it just has.
    pub fn ended(&mut self) -> bool {
        if self.over || !self.orders.over.load(Relaxed) {
            return false;
        }
        self.over = true;
        if let Some(thread) = self.thread.take() {
            self.failure = match thread.join() {
                Ok(Ok(())) => None,
                Ok(Err(cause)) => Some(cause.to_string()),
                Err(_) => Some("its thread ended in an error of the program".to_owned()),
            };
        }
        true
    }

    fn read(&self, at_ns: u64) -> Reading {
        let counters = &self.counters;
        let mut reading = Reading {
            at_s: at_ns.saturating_sub(self.start_ns) as f64 / 1e9,
            bytes: self.base + counters.bytes.load(Relaxed),
            datagrams: counters.datagrams.load(Relaxed),
            calls: counters.calls.load(Relaxed),
            errors: counters.send_errors.load(Relaxed),
            reads: *self
                .notes
                .reads
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
            ..Reading::default()
        };
        if self.info.udp && !super::sends(self.info.role) {
            reading.lost = counters.lost.load(Relaxed);
            reading.out_of_order = counters.reordered.load(Relaxed) + counters.late.load(Relaxed);
            reading.total = reading.datagrams + counters.late.load(Relaxed) + reading.lost;
        }
        reading
    }

    fn between(
        &self,
        from: &Reading,
        to: &Reading,
        latency: Latency,
        tcp: Option<TcpSnapshot>,
    ) -> Figures {
        let mut reads = to.reads;
        for (now, then) in reads.iter_mut().zip(from.reads) {
            *now -= then.min(*now);
        }
        Figures {
            start_s: from.at_s,
            end_s: to.at_s,
            bytes: to.bytes.saturating_sub(from.bytes),
            datagrams: to.datagrams - from.datagrams.min(to.datagrams),
            calls: to.calls - from.calls.min(to.calls),
            errors: to.errors - from.errors.min(to.errors),
            retransmits: to.retransmits - from.retransmits.min(to.retransmits),
            tcp,
            reads,
            udp: (self.info.udp && !super::sends(self.info.role)).then(|| UdpFigures {
                jitter_ms: self.counters.jitter_ns.load(Relaxed) as f64 / 1e6,
                lost: to.lost as i64 - from.lost as i64,
                total: to.total.saturating_sub(from.total),
                out_of_order: to.out_of_order.saturating_sub(from.out_of_order),
                latency,
            }),
        }
    }

    fn tcp(&self) -> Option<TcpSnapshot> {
        match &*self.link {
            Link::Tcp(stream) if super::sends(self.info.role) => tcp::state(stream),
            _ => None,
        }
    }

    /// What moved since this was asked last, up to `at_ns`.
    pub fn interval(&mut self, at_ns: u64) -> Figures {
        let mut now = self.read(at_ns);
        let tcp = self.tcp();
        now.retransmits = tcp.map_or(self.last.retransmits, |tcp| tcp.retransmits);
        let latency = {
            let mut latency = self
                .notes
                .latency
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut latency.1)
        };
        let figures = self.between(&self.last, &now, latency, tcp);
        self.last = now;
        figures
    }

    /// Whether anything has moved since the last interval.
    pub fn moved_since(&self) -> bool {
        self.read(0).bytes > self.last.bytes
    }

    /// What moved in all; `tcp` as it was last seen.
    pub fn total(&self) -> Figures {
        let mut now = self.read(self.end_ns());
        let tcp = self.tcp();
        now.retransmits = tcp.map_or(self.last.retransmits, |tcp| tcp.retransmits);
        let latency = self
            .notes
            .latency
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        self.between(&Reading::default(), &now, latency, tcp)
    }

    /// When the leg ended, or the moment.
    pub fn end_ns(&self) -> u64 {
        match self.notes.ended_ns.load(Relaxed) {
            0 => monotonic_ns(),
            at => at.max(self.start_ns + 1),
        }
    }
}

impl Drop for Leg {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.abort();
            let _ = thread.join();
        }
    }
}
