//! One end's half of a throughput test: its sockets, the threads that serve them, and their counters.

use crate::bell::{Bell, Ringer};
use crate::counters::{FlowCounters, Orders};
use crate::error::RunError;
use crate::layout::{self, Layout};
use crate::socket;
use crate::tcp::{self, Budget, Pace, Patience, Payload};
use crate::udp_receiver::{self, Receiving};
use crate::udp_sender::{self, Sending};
use caudal_core::plan::{BulkPlan, DatagramSizes, Direction, Plan, PlannedFlow, Rate};
use caudal_core::sample::{
    Counters, DelaySummary, FlowEnd, Granted, Role, Sample, Spacing, TcpSnapshot,
};
use caudal_core::sequence::SequenceCounts;
use caudal_core::units::BitRate;
use caudal_sys::clock::{monotonic_ns, set_timer_slack_ns};
use caudal_sys::tcp::SplicedSource;
use caudal_sys::{affinity, tcp as kernel, udp};
use caudal_wire::datagram::{Opening, fill_payload};
use caudal_wire::iperf3::datagram as iperf3;
use std::fs::File;
use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

/// How long after a test's time its last data may take to be acknowledged, ns.
const DRAIN_NS: u64 = 1_000_000_000;
/// How long the data of a test by amount may stand still before the rest is given up, ns.
const STALLED_NS: u64 = 10_000_000_000;
const STACK: usize = 512 << 10;

/// A data socket.
#[derive(Debug)]
pub enum Link {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A connected UDP socket.
    Udp(UdpSocket),
}

/// What only one end knows of how to carry its flows.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// Processors to pin the flows' threads to, in turn; empty for none.
    pub affinity: Vec<usize>,
    /// Where the payload comes from instead of a block of our own; `-` for standard input.
    pub file: Option<PathBuf>,
    /// Set while a test runs, it ends the test as an interrupt would.
    pub quit: Arc<AtomicBool>,
    /// When traffic is to begin, ns since 1970; at once when that is past, or `None`.
    pub at_ns: Option<u64>,
}

/// Answers a datagram of the opening dialogue that comes in again on an open flow.
pub type Reopen = Arc<dyn Fn(&UdpSocket, &Opening) + Send + Sync>;

/// In whose way the flows of a test are carried.
#[derive(Clone)]
pub enum Dialect {
    /// Ours: a sender half-closes its connection when it has sent its last.
    Native {
        /// The test's short name.
        tag: u32,
        /// What to do with an opening datagram that comes in again.
        reopen: Option<Reopen>,
    },
    /// iperf3's: connections stay open until both ends have told their results.
    Iperf3 {
        /// The layout of datagrams.
        layout: layout::Iperf3,
        /// Blocks or datagrams that leave together at least, where a rate is kept.
        burst: u32,
        /// Whether a sender waits until what it has sent has been acknowledged.
        waits: bool,
        /// Whether the receiver reads datagrams in batches, as versions with `--gsro` do.
        batches: bool,
    },
}

impl Dialect {
    /// Whether a sender that has sent its last says so by half-closing its connection.
    const fn half_closes(&self) -> bool {
        matches!(self, Self::Native { .. })
    }

    fn fill(&self, block: &mut [u8]) {
        match self {
            Self::Native { tag, .. } => fill_payload(block, *tag),
            Self::Iperf3 { layout, .. } => layout.fill(block),
        }
    }
}

#[derive(Debug, Default)]
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self
            .open
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    fn pass(&self, orders: &Orders) {
        let mut open = self
            .open
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        while !*open && !orders.stopped() {
            open = self
                .opened
                .wait(open)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
}

#[derive(Debug, Default)]
struct Outcome {
    tcp: Option<TcpSnapshot>,
    spacing: Option<Spacing>,
    sequence: Option<SequenceCounts>,
    delay: Option<DelaySummary>,
    failure: Option<String>,
}

struct Carried {
    flow: PlannedFlow,
    role: Role,
    link: Arc<Link>,
    counters: Arc<FlowCounters>,
    orders: Arc<Orders>,
    thread: Option<JoinHandle<Outcome>>,
    granted: Granted,
    outcome: Outcome,
}

/// One end's half of a throughput test.
pub struct Carrier {
    flows: Vec<Carried>,
    gate: Arc<Gate>,
    start_ns: u64,
    ended: Bell,
    half_closes: bool,
}

/// The role an end has in a flow of this direction.
#[must_use]
pub const fn role(direction: Direction, is_client: bool) -> Role {
    match (direction, is_client) {
        (Direction::Up, true) | (Direction::Down, false) => Role::Sender,
        _ => Role::Receiver,
    }
}

impl Carrier {
    /// Takes the data sockets over and puts a thread on each; receivers begin at once, senders at
    /// [`start`](Self::start).
    ///
    /// # Errors
    /// When the payload's file cannot be opened, or a thread or a pipe cannot be had.
    pub fn new(
        plan: &Plan,
        dialect: &Dialect,
        links: Vec<(PlannedFlow, Link)>,
        is_client: bool,
        manner: &Manner,
    ) -> Result<Self, RunError> {
        let pipe = |cause| RunError::local("opening a pipe", cause);
        let ended = Bell::new().map_err(pipe)?;
        let gate = Arc::new(Gate::default());
        let bulk = plan.bulk().ok_or_else(no_bulk)?;
        let bytes = bulk.bytes().map(caudal_core::units::ByteCount::get);
        let budget = Budget::new(bytes);
        let mut carrier = Self {
            flows: Vec::new(),
            gate,
            start_ns: 0,
            ended,
            half_closes: dialect.half_closes(),
        };
        let mut block = vec![0; bulk.length as usize];
        dialect.fill(&mut block);
        let block = Arc::new(block);
        for (nth, (flow, link)) in links.into_iter().enumerate() {
            let role = role(flow.direction, is_client);
            let cpu = manner
                .affinity
                .get(nth % manner.affinity.len().max(1))
                .copied();
            let job = Job {
                plan: plan.clone(),
                bulk: bulk.clone(),
                flow,
                dialect: dialect.clone(),
                role,
                link: Arc::new(link),
                counters: Arc::new(FlowCounters::default()),
                orders: Arc::new(Orders::default()),
                budget: Arc::clone(&budget),
                gate: Arc::clone(&carrier.gate),
                cpu,
            };
            let granted = match &*job.link {
                Link::Tcp(stream) => socket::granted_tcp(stream, wants_mptcp(plan)),
                Link::Udp(udp) => socket::granted_udp(udp, bulk.length),
            };
            let payload = match (&*job.link, job.role) {
                (Link::Tcp(_), Role::Sender) => Some(payload(plan, bulk.length, manner, &block)?),
                _ => None,
            };
            let mut carried = Carried {
                flow,
                role: job.role,
                link: Arc::clone(&job.link),
                counters: Arc::clone(&job.counters),
                orders: Arc::clone(&job.orders),
                thread: None,
                granted,
                outcome: Outcome::default(),
            };
            let tell = carrier.ended.ringer().map_err(pipe)?;
            let thread = thread::Builder::new()
                .name(format!("flow {}", flow.id))
                .stack_size(STACK)
                .spawn(move || job.carry(payload, tell));
            carried.thread =
                Some(thread.map_err(|cause| RunError::local("starting a thread", cause))?);
            carrier.flows.push(carried);
        }
        Ok(carrier)
    }

    /// Lets the senders go: the test's clock runs from here.
    pub fn start(&mut self) {
        self.start_ns = monotonic_ns();
        self.gate.open();
        for carried in &self.flows {
            // What was there before this thread came round to it belongs to the test.
            let first = carried.counters.first_ns.load(Relaxed);
            if first != 0 {
                self.start_ns = self.start_ns.min(first);
            }
        }
    }

    /// When the test's clock began, ns of the monotonic clock.
    #[must_use]
    pub const fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Rings whenever a flow's thread has ended.
    #[must_use]
    pub const fn ended(&mut self) -> &mut Bell {
        &mut self.ended
    }

    /// Reads all flows' counters.
    #[must_use]
    pub fn sample(&self, tick: u64) -> Vec<Sample> {
        self.flows
            .iter()
            .map(|carried| Sample {
                flow: carried.flow.id,
                tick,
                at_ns: monotonic_ns().saturating_sub(self.start_ns),
                counters: carried.read(self.start_ns),
            })
            .collect()
    }

    /// Payload bytes moved so far, over all flows: grows as long as anything happens.
    #[must_use]
    pub fn progress(&self) -> u64 {
        self.flows
            .iter()
            .map(|carried| carried.counters.bytes.load(Relaxed))
            .sum()
    }

    /// Ends the flows in which this end sends; the others go on.
    pub fn stop_senders(&self) {
        for carried in self
            .flows
            .iter()
            .filter(|carried| carried.role == Role::Sender)
        {
            carried.orders.stop.store(true, Relaxed);
            if let (Link::Tcp(stream), true) = (&*carried.link, self.half_closes) {
                // Wakes a thread that is blocked in a send; where connections stay open, sends time out.
                let _ = kernel::shutdown_write(stream);
            }
        }
        self.gate.open();
    }

    /// Half-closes the connections on which this end sends: the other end sees where they end.
    pub fn close_senders(&self) {
        for carried in &self.flows {
            if let (Role::Sender, Link::Tcp(stream)) = (carried.role, &*carried.link) {
                let _ = kernel::shutdown_write(stream);
            }
        }
    }

    /// Ends every flow.
    pub fn stop_all(&self) {
        for carried in &self.flows {
            carried.orders.stop.store(true, Relaxed);
            match &*carried.link {
                Link::Tcp(stream) => {
                    let _ = stream.shutdown(Shutdown::Both);
                }
                Link::Udp(socket) => {
                    // Wakes a thread that is blocked in a receive; it looks up soon in any case.
                    let _ = socket2::SockRef::from(socket).shutdown(Shutdown::Read);
                }
            }
        }
        self.gate.open();
    }

    /// Tells the receiver of `flow` how many datagrams were sent in all.
    pub fn expect(&self, flow: u32, datagrams: u64) {
        for carried in self.flows.iter().filter(|carried| carried.flow.id == flow) {
            carried
                .orders
                .expected_plus_one
                .store(datagrams.saturating_add(1), Relaxed);
        }
    }

    /// Datagrams sent on each UDP flow in which this end sends.
    #[must_use]
    pub fn sent(&self) -> Vec<(u32, u64)> {
        self.flows
            .iter()
            .filter(|carried| carried.role == Role::Sender && matches!(*carried.link, Link::Udp(_)))
            .map(|carried| (carried.flow.id, carried.counters.datagrams.load(Relaxed)))
            .collect()
    }

    /// Whether all flows in which this end has `role` have ended.
    #[must_use]
    pub fn is_over(&self, role: Role) -> bool {
        self.flows
            .iter()
            .filter(|carried| carried.role == role)
            .all(|carried| carried.orders.over.load(Relaxed))
    }

    /// Waits for all threads, which must have been told to end, and gives the last word on each flow.
    #[must_use]
    pub fn finish(mut self) -> Vec<FlowEnd> {
        self.join();
        self.flows
            .drain(..)
            .map(|carried| {
                let mut counters = carried.read(self.start_ns);
                if let (Counters::Sender(sender), Some(last)) = (&mut counters, carried.outcome.tcp)
                {
                    sender.tcp = Some(last);
                }
                let Carried {
                    flow,
                    granted,
                    outcome,
                    ..
                } = carried;
                FlowEnd {
                    flow: flow.id,
                    counters,
                    granted,
                    spacing: outcome.spacing,
                    sequence: outcome.sequence,
                    delay: outcome.delay,
                    failure: outcome.failure,
                }
            })
            .collect()
    }

    fn join(&mut self) {
        for carried in &mut self.flows {
            if let Some(thread) = carried.thread.take() {
                carried.outcome = thread.join().unwrap_or_else(|_| Outcome {
                    failure: Some("its thread ended in an error of the program".to_owned()),
                    ..Outcome::default()
                });
                if let Link::Tcp(stream) = &*carried.link {
                    let last = socket::granted_tcp(stream, carried.granted.mptcp.is_some());
                    // Auto-tuned buffers and the MSS are what they became.
                    carried.granted.send_buffer_bytes = last.send_buffer_bytes;
                    carried.granted.receive_buffer_bytes = last.receive_buffer_bytes;
                    carried.granted.mss = last.mss.or(carried.granted.mss);
                    carried.granted.path_mtu = last.path_mtu.or(carried.granted.path_mtu);
                }
            }
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        if self.flows.iter().any(|carried| carried.thread.is_some()) {
            self.stop_all();
            self.join();
        }
    }
}

impl Carried {
    fn read(&self, start_ns: u64) -> Counters {
        match (self.role, &*self.link) {
            (Role::Sender, Link::Tcp(stream)) => {
                let mut counters = self.counters.sender();
                counters.tcp = tcp::state(stream);
                Counters::Sender(counters)
            }
            (Role::Sender, Link::Udp(_)) => Counters::Sender(self.counters.sender()),
            (Role::Receiver, Link::Tcp(_)) => Counters::Receiver(self.counters.receiver(start_ns)),
            (Role::Receiver, Link::Udp(socket)) => {
                let mut counters = self.counters.receiver(start_ns);
                counters.socket_drops =
                    udp::meminfo(socket).map_or(0, |memory| u64::from(memory.drops));
                Counters::Receiver(counters)
            }
        }
    }
}

fn no_bulk() -> RunError {
    RunError::Protocol("this plan has no payload to carry in bulk".to_owned())
}

const fn wants_mptcp(plan: &Plan) -> bool {
    matches!(plan, Plan::Tcp(plan) if plan.mptcp)
}

fn payload(
    plan: &Plan,
    length: u32,
    manner: &Manner,
    block: &Arc<Vec<u8>>,
) -> Result<Payload, RunError> {
    let length = length as usize;
    if let Some(path) = &manner.file {
        let wanted = |cause| RunError::local(format!("opening {}", path.display()), cause);
        let file = if path.as_os_str() == "-" {
            use std::os::fd::AsFd;
            File::from(io::stdin().as_fd().try_clone_to_owned().map_err(wanted)?)
        } else {
            File::open(path).map_err(wanted)?
        };
        let regular = file.metadata().map_err(wanted)?.is_file();
        return Ok(if regular && path.as_os_str() != "-" {
            Payload::File { file, offset: 0 }
        } else {
            Payload::Stream {
                source: file,
                buffer: vec![0; length],
            }
        });
    }
    if matches!(plan, Plan::Tcp(plan) if plan.zero_copy) {
        let pages = SplicedSource::new(length)
            .map_err(|cause| RunError::local("preparing pages for --zerocopy", cause))?;
        return Ok(Payload::Pages(pages));
    }
    Ok(Payload::Block(Arc::clone(block)))
}

struct Job {
    plan: Plan,
    bulk: BulkPlan,
    flow: PlannedFlow,
    dialect: Dialect,
    role: Role,
    link: Arc<Link>,
    counters: Arc<FlowCounters>,
    orders: Arc<Orders>,
    budget: Arc<Budget>,
    gate: Arc<Gate>,
    cpu: Option<usize>,
}

impl Job {
    fn carry(self, payload: Option<Payload>, mut tell: Ringer) -> Outcome {
        self.counters.claim();
        if let Some(cpu) = self.cpu {
            // A processor that is not there was refused when the plan was made.
            let _ = affinity::pin_this_thread(cpu);
        }
        // The default of 50 µs would show in every paced departure.
        let _ = set_timer_slack_ns(1);
        let outcome = match (self.role, &*self.link) {
            (Role::Sender, Link::Tcp(stream)) => self.send_tcp(stream, payload),
            (Role::Receiver, Link::Tcp(stream)) => {
                let discard = matches!(&self.plan, Plan::Tcp(plan) if plan.discard);
                let length = self.bulk.length as usize;
                Outcome {
                    failure: tcp::receive(
                        stream,
                        length,
                        discard,
                        self.bulk.window.is_none(),
                        &self.counters,
                        &self.orders,
                    )
                    .err()
                    .map(|cause| cause.to_string()),
                    ..Outcome::default()
                }
            }
            (Role::Sender, Link::Udp(socket)) => self.send_udp(socket),
            (Role::Receiver, Link::Udp(socket)) => self.receive_udp(socket),
        };
        self.counters.release();
        self.orders.over.store(true, Relaxed);
        tell.ring();
        outcome
    }

    fn rate(&self) -> Option<BitRate> {
        self.bulk.rate.limit()
    }

    fn send_tcp(&self, stream: &TcpStream, payload: Option<Payload>) -> Outcome {
        self.gate.pass(&self.orders);
        let burst = match self.dialect {
            Dialect::Native { .. } => 1,
            Dialect::Iperf3 { burst, .. } => burst,
        };
        let pace = self.rate().map(|rate| Pace { rate, burst });
        if let Some(pace) = pace {
            // The kernel spreads segments inside what is handed over at once; a little above the rate,
            // so that the schedule here sets the mean.
            let bytes = pace.rate.bps() / 8;
            let _ = kernel::set_pacing_rate(stream, bytes + bytes / 50 + 1);
        }
        let Some(payload) = payload else {
            return Outcome::default();
        };
        let length = self.bulk.length as usize;
        let sent = tcp::send(
            stream,
            payload,
            length,
            pace,
            &self.budget,
            &self.counters,
            &self.orders,
        );
        // What the kernel says of a connection that has closed need not be what it was.
        let before = tcp::state(stream);
        let waits = !matches!(self.dialect, Dialect::Iperf3 { waits: false, .. });
        let patience = match (waits, self.orders.stopped()) {
            (false, _) => Patience::Bounded(0),
            (true, true) => Patience::Bounded(DRAIN_NS),
            (true, false) => Patience::WhileMoving(STALLED_NS),
        };
        if self.dialect.half_closes() {
            let _ = kernel::shutdown_write(stream);
        }
        if !tcp::drain(stream, patience, &self.orders) && waits {
            // What is still queued would keep the connection for minutes.
            let _ = kernel::set_zero_linger(stream);
        }
        let after = tcp::state(stream);
        let grown =
            |state: &TcpSnapshot| state.bytes_sent >= before.and_then(|before| before.bytes_sent);
        Outcome {
            tcp: after.filter(grown).or(before),
            failure: sent.err().map(|cause| cause.to_string()),
            ..Outcome::default()
        }
    }

    fn send_udp(&self, socket: &UdpSocket) -> Outcome {
        self.gate.pass(&self.orders);
        let (sizes, flow) = (self.sizes(), self.flow.id);
        match self.dialect {
            Dialect::Native { tag, .. } => {
                let credit = self.rate().is_none() && self.bulk.same_machine;
                let layout = layout::Native { flow, tag };
                let credit = credit.then_some((flow, tag));
                self.send_datagrams(socket, layout, sizes, (1, false), credit)
            }
            Dialect::Iperf3 {
                layout,
                burst,
                batches,
                ..
            } => self.send_datagrams(socket, layout, sizes, (burst, !batches), None),
        }
    }

    fn sizes(&self) -> DatagramSizes {
        match (&self.plan, &self.dialect) {
            (Plan::Udp(plan), Dialect::Native { .. }) => plan.datagram_sizes(self.flow.id),
            (Plan::Udp(plan), Dialect::Iperf3 { .. }) => plan.whole_datagrams(self.flow.id),
            _ => DatagramSizes::new(self.bulk.length, None),
        }
    }

    fn send_datagrams<L: Layout>(
        &self,
        socket: &UdpSocket,
        layout: L,
        sizes: DatagramSizes,
        (burst, alone): (u32, bool),
        credit: Option<(u32, u32)>,
    ) -> Outcome {
        let sending = Sending {
            layout,
            length: self.bulk.length,
            rate: self.rate(),
            sizes,
            burst,
            alone,
            credit,
        };
        match udp_sender::send(socket, &sending, &self.counters, &self.orders) {
            Ok(spacing) => Outcome {
                spacing,
                ..Outcome::default()
            },
            Err(cause) => Outcome {
                failure: Some(cause.to_string()),
                ..Outcome::default()
            },
        }
    }

    fn receive_udp(&self, socket: &UdpSocket) -> Outcome {
        let flow = self.flow.id;
        match &self.dialect {
            Dialect::Native { tag, reopen } => {
                let credit = self.bulk.same_machine && self.bulk.rate == Rate::Max;
                let credit = credit.then_some((flow, *tag));
                let layout = layout::Native { flow, tag: *tag };
                self.receive_datagrams(socket, layout, credit, |datagram| {
                    match (Opening::decode(datagram), reopen) {
                        (Some(opening), Some(reopen)) => reopen(socket, &opening),
                        (Some(_), None) => {}
                        (None, _) => return false,
                    }
                    true
                })
            }
            Dialect::Iperf3 { layout, .. } => {
                self.receive_datagrams(socket, *layout, None, |datagram| {
                    // A hello that comes again has lost its answer.
                    if let Some(answer) = iperf3::answer_to(datagram) {
                        let _ = socket.send(&answer);
                    }
                    iperf3::is_opening(datagram)
                })
            }
        }
    }

    fn receive_datagrams<L: Layout>(
        &self,
        socket: &UdpSocket,
        layout: L,
        credit: Option<(u32, u32)>,
        opening: impl FnMut(&[u8]) -> bool,
    ) -> Outcome {
        let receiving = Receiving {
            layout,
            length: self.bulk.length,
            sizes: self.sizes(),
            verify: matches!(&self.plan, Plan::Udp(plan) if plan.verify),
            credit,
        };
        let (found, outcome) =
            udp_receiver::receive(socket, &receiving, &self.counters, &self.orders, opening);
        Outcome {
            sequence: Some(found.sequence),
            delay: Some(found.delay),
            failure: outcome.err().map(|cause| cause.to_string()),
            ..Outcome::default()
        }
    }
}
