//! The thread of one end of a flow.

use super::counters::FlowCounters;
use super::signals::{FlowSignals, StartGate};
use super::tcp_state::tcp_state;
use super::test_limit::TestLimit;
use crate::socket::DataSocket;
use crate::wakeup::Waker;
use caudal_core::marks::ArrivedMarks;
use caudal_core::plan::PlannedFlow;
use caudal_core::sample::{
    Counters, DelaySummary, EcnArrived, FlowEnd, Granted, ReceiverCounters, Role, Sample, Spacing,
    TcpSnapshot,
};
use caudal_core::sequence::SequenceCounts;
use caudal_core::tcp_trace::TcpTrace;
use caudal_core::text::ExternalText;
use caudal_sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until};
use caudal_sys::{affinity, udp};
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const STACK_BYTES: usize = 512 << 10;
/// Maximum sleep of a delayed flow between two checks of its signals, ns.
const MAX_SLEEP_NS: u64 = 20_000_000;

/// The work of a flow's thread.
pub struct FlowWork {
    /// The size of its buffers, bytes.
    pub(super) buffer_bytes: u64,
    run: Box<dyn FnOnce(&FlowContext) -> TaskOutcome + Send>,
}

impl FlowWork {
    /// The work of `run`, which has buffers of `buffer_bytes` of its own.
    pub fn new(
        buffer_bytes: usize,
        run: impl FnOnce(&FlowContext) -> TaskOutcome + Send + 'static,
    ) -> Self {
        Self {
            buffer_bytes: buffer_bytes as u64,
            run: Box::new(run),
        }
    }

    /// The same work, begun this long after the flows were started.
    #[must_use]
    pub fn delayed(self, delay: Duration) -> Self {
        if delay.is_zero() {
            return self;
        }
        let Self { buffer_bytes, run } = self;
        Self {
            buffer_bytes,
            run: Box::new(move |flow| {
                flow.gate.wait(&flow.signals);
                let until_ns = monotonic_ns().saturating_add(delay.as_nanos() as u64);
                while !flow.signals.is_stopped() && monotonic_ns() < until_ns {
                    sleep_until(until_ns.min(monotonic_ns() + MAX_SLEEP_NS));
                }
                run(flow)
            }),
        }
    }
}

/// The socket, counters and signals that a flow's task works with.
#[derive(Clone)]
pub struct FlowContext {
    /// The socket.
    pub socket: Arc<DataSocket>,
    /// The counters, which other threads read.
    pub counters: Arc<FlowCounters>,
    /// The signals of other threads.
    pub signals: Arc<FlowSignals>,
    /// The gate at which a sender waits for the start.
    pub gate: Arc<StartGate>,
    /// The limits of the test, where there are any.
    pub(crate) limit: Option<Arc<TestLimit>>,
}

impl FlowContext {
    /// The limits on rate and amount, where there are any.
    pub fn amount_limit(&self) -> Option<&TestLimit> {
        self.limit.as_deref().filter(|limit| !limit.is_unlimited())
    }
}

/// The outcome of a flow's task beyond its counters.
#[derive(Debug, Default)]
pub struct TaskOutcome {
    /// The last TCP state that the kernel reported (TCP sender).
    pub tcp: Option<TcpSnapshot>,
    /// The evenness of departures (UDP sender with a rate).
    pub spacing: Option<Spacing>,
    /// The exact account of datagrams (UDP receiver).
    pub sequence: Option<SequenceCounts>,
    /// `true` when segments arrived as those of an ECN-capable transport (TCP receiver).
    pub ecn_seen: Option<bool>,
    /// The segments that arrived, and those of them marked CE (TCP receiver).
    pub ecn_arrived: Option<EcnArrived>,
    /// The marks with which datagrams arrived (UDP receiver).
    pub marks: Option<ArrivedMarks>,
    /// Delay variation (UDP receiver).
    pub delay: Option<DelaySummary>,
    /// The reason why the flow ended before its time.
    pub failure: Option<ExternalText>,
    /// `true` when that was the loss of the other end.
    pub is_peer_lost: bool,
}

impl TaskOutcome {
    /// The outcome of a flow of which only success or failure is known.
    pub fn from_result(result: io::Result<()>) -> Self {
        Self {
            is_peer_lost: result.as_ref().is_err_and(is_peer_lost),
            failure: result.err().map(|cause| cause.to_string()).map(Into::into),
            ..Self::default()
        }
    }
}

/// `true` for an error by which a connection reports that the other end has gone or cannot be reached.
fn is_peer_lost(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof
            | io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

/// One end of a flow with its thread.
pub(super) struct FlowThread {
    pub(super) flow: PlannedFlow,
    pub(super) role: Role,
    pub(super) context: FlowContext,
    pub(super) start_ns: u64,
    granted: Granted,
    outcome: TaskOutcome,
    thread: Option<JoinHandle<TaskOutcome>>,
    pub(super) is_reported: bool,
}

impl FlowThread {
    /// Starts the thread of a flow; `waker` wakes whoever waits for its end.
    pub(super) fn spawn(
        flow: PlannedFlow,
        role: Role,
        context: FlowContext,
        granted: Granted,
        cpu: Option<usize>,
        waker: Waker,
        task: FlowWork,
    ) -> io::Result<Self> {
        let inner = context.clone();
        if let Some(limit) = &context.limit {
            limit
                .server()
                .memory
                .check_address_space(STACK_BYTES as u64)?;
        }
        let thread = thread::Builder::new()
            .name(format!("flow {}", flow.id))
            .stack_size(STACK_BYTES)
            .spawn(move || run(&inner, cpu, &waker, task))?;
        Ok(Self {
            flow,
            role,
            context,
            start_ns: 0,
            granted,
            outcome: TaskOutcome::default(),
            thread: Some(thread),
            is_reported: false,
        })
    }

    /// Reads the counters.
    pub(super) fn counters(&self) -> Counters {
        let counters = &self.context.counters;
        match (self.role, &*self.context.socket) {
            (Role::Sender, DataSocket::Tcp(stream)) => {
                let mut counters = counters.sender();
                counters.tcp = tcp_state(stream);
                Counters::Sender(counters)
            }
            (Role::Sender, DataSocket::Udp(_)) => Counters::Sender(counters.sender()),
            (Role::Receiver, DataSocket::Tcp(_)) => Counters::Receiver(ReceiverCounters {
                waiting_bytes: self.waiting_bytes(),
                ..counters.receiver(self.start_ns)
            }),
            (Role::Receiver, DataSocket::Udp(socket)) => {
                let mut counters = counters.receiver(self.start_ns);
                counters.socket_drops =
                    udp::meminfo(socket).map_or(0, |memory| u64::from(memory.drops));
                Counters::Receiver(counters)
            }
        }
    }

    /// Payload bytes that have arrived behind a gap; 0 where this end does not receive over TCP.
    pub(super) fn waiting_bytes(&self) -> u64 {
        match (self.role, self.context.socket.tcp()) {
            (Role::Receiver, Some(stream)) => {
                let counters = &self.context.counters;
                counters.with_readings(|readings| readings.out_of_order.read(stream))
            }
            _ => 0,
        }
    }

    /// Reads the counters as reading number `tick`.
    pub(super) fn sample(&self, tick: u64) -> Sample {
        Sample {
            flow: self.flow.id,
            tick,
            at_ns: monotonic_ns().saturating_sub(self.start_ns),
            counters: self.counters(),
        }
    }

    /// The end of the flow, ns after its start; the present while it runs.
    pub(super) fn ended_ns(&self) -> u64 {
        let ended_ns = self.context.counters.ended_ns();
        ended_ns
            .unwrap_or_else(monotonic_ns)
            .saturating_sub(self.start_ns)
    }

    /// `true` when the thread, which was joined, has lost the other end.
    pub(super) const fn is_peer_lost(&self) -> bool {
        self.outcome.is_peer_lost
    }

    pub(super) const fn is_joined(&self) -> bool {
        self.thread.is_none()
    }

    /// Waits for the thread.
    pub(super) fn join(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.outcome = thread.join().unwrap_or_else(|_| TaskOutcome {
            failure: Some("its thread ended in an error of the program".into()),
            ..TaskOutcome::default()
        });
        if let DataSocket::Udp(socket) = &*self.context.socket {
            // Routers may have told the kernel meanwhile.
            self.granted.path_mtu = udp::path_mtu(socket).or(self.granted.path_mtu);
        }
        if let DataSocket::Tcp(stream) = &*self.context.socket {
            // Buffers and MSS are adjusted by the kernel while a connection runs.
            let last = crate::socket::granted_tcp(stream, false);
            self.granted.send_buffer_bytes = last.send_buffer_bytes;
            self.granted.receive_buffer_bytes = last.receive_buffer_bytes;
            self.granted.mss = last.mss.or(self.granted.mss);
            self.granted.path_mtu = last.path_mtu.or(self.granted.path_mtu);
        }
    }

    /// The course of its connection, where it was recorded.
    fn trace(&self) -> Option<TcpTrace> {
        let counters = &self.context.counters;
        counters.with_readings(|readings| readings.trace.clone())
    }

    /// The final report of a flow whose thread was joined.
    pub(super) fn end(&self) -> FlowEnd {
        let mut counters = self.counters();
        if let (Counters::Sender(sender), Some(last)) = (&mut counters, self.outcome.tcp) {
            sender.tcp = Some(last);
        }
        FlowEnd {
            flow: self.flow.id,
            counters,
            granted: self.granted.clone(),
            spacing: self.outcome.spacing,
            sequence: self.outcome.sequence.clone(),
            marks: self.outcome.marks.clone(),
            ecn_seen: self.outcome.ecn_seen,
            ecn_arrived: self.outcome.ecn_arrived,
            delay: self.outcome.delay,
            trace: self.trace(),
            failure: self.outcome.failure.clone(),
        }
    }
}

fn run(flow: &FlowContext, cpu: Option<usize>, waker: &Waker, task: FlowWork) -> TaskOutcome {
    flow.counters.attach_thread();
    if let Some(cpu) = cpu {
        // A processor that does not exist was refused when the plan was made.
        let _ = affinity::pin_this_thread(cpu);
    }
    // The default of 50 µs would show in every paced departure.
    let _ = set_timer_slack_ns(1);
    let outcome = (task.run)(flow);
    flow.counters.set_ended(monotonic_ns());
    flow.counters.detach_thread();
    flow.signals.set_over();
    waker.wake();
    outcome
}
