//! The flows of one end of a test that start together.

use super::connection_reader::ConnectionReader;
use super::counters::FlowCounters;
use super::signals::StartGate;
use super::test_limit::{LimitReached, TestLimit};
use super::thread::{FlowContext, FlowThread, FlowWork};
use crate::error::RunError;
use crate::memory::MemoryReservation;
use crate::socket::DataSocket;
use crate::socket_memory::{buffer_share, reserve_buffers};
use crate::wakeup::Wakeup;
use caudal_core::plan::{Direction, PlannedFlow};
use caudal_core::sample::{FlowEnd, Granted, Role, Sample};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp::shutdown_write;
use std::net::Shutdown;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The role an end of a test has in a flow of this direction.
#[must_use]
pub const fn role(direction: Direction, is_client: bool) -> Role {
    match (direction, is_client) {
        (Direction::Up, true) | (Direction::Down, false) => Role::Sender,
        _ => Role::Receiver,
    }
}

/// The way in which a TCP sender is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopAction {
    /// Its connection is half-closed, which also wakes a thread that is blocked in a send.
    HalfClose,
    /// Its connection stays open; its sends time out.
    KeepOpen,
}

/// One end of a flow that is to be started.
pub struct NewFlow {
    /// The flow.
    pub flow: PlannedFlow,
    /// The role of this end.
    pub role: Role,
    /// Its socket, which the two directions of a connection may share.
    pub socket: Arc<DataSocket>,
    /// The settings the kernel granted the socket.
    pub granted: Granted,
    /// The processor its thread is pinned to.
    pub cpu: Option<usize>,
    /// The work of its thread.
    pub task: FlowWork,
}

/// One end's flows that start together, each with its thread; stopped when dropped.
pub struct FlowSet {
    flows: Vec<FlowThread>,
    gate: Arc<StartGate>,
    start_ns: Option<u64>,
    ended: Wakeup,
    stop_action: StopAction,
    /// The thread that reads the connections' states while the flows run.
    reader: Option<ConnectionReader>,
    limit: Option<Arc<TestLimit>>,
    /// The memory that the buffers of the socket of a flow may take, bytes.
    buffer_share: u64,
    /// The memory of the flows' buffers, and of those of their sockets.
    memory: Vec<MemoryReservation>,
}

impl FlowSet {
    /// A set without flows.
    ///
    /// # Errors
    /// When the kernel gives no pipe.
    pub fn new(stop_action: StopAction) -> Result<Self, RunError> {
        Self::limited(stop_action, None, 0)
    }

    /// A set without flows, for the `planned` ones of a test within these limits.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn limited(
        stop_action: StopAction,
        limit: Option<TestLimit>,
        planned: usize,
    ) -> Result<Self, RunError> {
        let budget = limit.as_ref().map(|limit| &limit.server().memory);
        Ok(Self {
            buffer_share: budget.map_or(0, |budget| buffer_share(budget, planned)),
            flows: Vec::new(),
            gate: Arc::default(),
            start_ns: None,
            ended: Wakeup::new().map_err(|cause| RunError::local("opening a pipe", cause))?,
            stop_action,
            reader: None,
            limit: limit.map(Arc::new),
            memory: Vec::new(),
        })
    }

    /// Reserves `bytes` for a buffer that flows share, as long as the set is there.
    ///
    /// # Errors
    /// When the memory for clients is used up.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), RunError> {
        if let Some(limit) = &self.limit {
            self.memory.push(limit.server().memory.reserve(bytes)?);
        }
        Ok(())
    }

    /// Reserves what the kernel may keep for the socket of a flow of a server's client.
    fn reserve_buffers(&mut self, spec: &mut NewFlow) -> Result<(), RunError> {
        if let Some(limit) = &self.limit {
            let (socket, granted) = (&spec.socket, &mut spec.granted);
            let (share, limits) = (self.buffer_share, limit.server());
            let memory = reserve_buffers(socket, spec.role, share, limits, granted)?;
            self.memory.push(memory);
        }
        Ok(())
    }

    /// Adds a flow and starts its thread: a receiver begins at once, a sender when the set is [started](Self::start). A flow
    /// that is added later has a start of its own.
    ///
    /// # Errors
    /// When the kernel gives no pipe or thread, or the memory for clients is used up.
    pub fn add(&mut self, mut spec: NewFlow) -> Result<(), RunError> {
        self.reserve(spec.task.buffer_bytes)?;
        self.reserve_buffers(&mut spec)?;
        if let (Some(limit), Role::Receiver) = (&self.limit, spec.role) {
            limit.add_receiver();
        }
        let waker = self
            .ended
            .waker()
            .map_err(|cause| RunError::local("opening a pipe", cause))?;
        let context = FlowContext {
            socket: spec.socket,
            counters: Arc::new(FlowCounters::default()),
            signals: Arc::default(),
            gate: Arc::clone(&self.gate),
            limit: self.limit.clone(),
        };
        let mut thread = FlowThread::spawn(
            spec.flow,
            spec.role,
            context,
            spec.granted,
            spec.cpu,
            waker,
            spec.task,
        )
        .map_err(|cause| RunError::local("starting a thread", cause))?;
        if self.start_ns.is_some() {
            thread.start_ns = monotonic_ns();
        }
        self.flows.push(thread);
        Ok(())
    }

    /// Lets the senders go: the clock of the flows runs from here.
    pub fn start(&mut self) {
        let start_ns = self.open_gate();
        for flow in &mut self.flows {
            flow.start_ns = start_ns;
        }
        self.start_ns = Some(start_ns);
        self.read_connections();
    }

    /// Lets the senders go, whose clock runs from here. That of the receivers runs from `began_ns`, when their payload may
    /// have begun to arrive.
    pub fn start_since(&mut self, began_ns: u64) {
        let now_ns = monotonic_ns();
        let start_ns = self.open_gate().min(began_ns);
        for flow in &mut self.flows {
            flow.start_ns = match flow.role {
                Role::Sender => now_ns,
                Role::Receiver => start_ns,
            };
        }
        self.start_ns = Some(start_ns);
        self.read_connections();
    }

    /// Starts reading the states of the connections; without a thread for it they are not known.
    fn read_connections(&mut self) {
        let flows = self
            .flows
            .iter()
            .filter(|flow| flow.context.socket.tcp().is_some());
        let flows = flows.map(|flow| (flow.role, flow.context.clone()));
        self.reader = ConnectionReader::spawn(flows.collect()).ok().flatten();
    }

    /// Lets the senders go: the clock of the test and of its senders runs from here, that of a receiver from its first
    /// payload where that has arrived already.
    pub fn start_senders(&mut self) {
        let now_ns = monotonic_ns();
        self.open_gate();
        for flow in &mut self.flows {
            let first_ns = flow.context.counters.first_ns.load(Relaxed);
            flow.start_ns = match flow.role {
                Role::Receiver if first_ns != 0 => now_ns.min(first_ns),
                _ => now_ns,
            };
        }
        self.start_ns = Some(now_ns);
        self.read_connections();
    }

    /// Lets the senders go: the present, or the arrival of the first payload.
    fn open_gate(&self) -> u64 {
        let now_ns = monotonic_ns();
        if let Some(limit) = &self.limit {
            limit.start(now_ns);
        }
        self.gate.open();
        self.flows
            .iter()
            .map(|flow| flow.context.counters.first_ns.load(Relaxed))
            // Payload that arrived before this thread was scheduled belongs to the test.
            .filter(|first_ns| *first_ns != 0)
            .fold(now_ns, u64::min)
    }

    /// The limit of the server that the test has reached at `now_ns`.
    pub fn limit_reached(&self, now_ns: u64) -> Option<LimitReached> {
        self.limit.as_ref()?.reached(now_ns)
    }

    /// The time at which a limit of the server ends the test, ns of the monotonic clock.
    pub fn limit_due_ns(&self) -> Option<u64> {
        self.limit.as_ref()?.due_ns()
    }

    /// The start, ns of the monotonic clock; 0 before.
    pub fn start_ns(&self) -> u64 {
        self.start_ns.unwrap_or(0)
    }

    /// `true` once the set was started.
    pub const fn is_started(&self) -> bool {
        self.start_ns.is_some()
    }

    /// The descriptor to poll, readable when a flow's thread has ended.
    pub fn ended_fd(&self) -> BorrowedFd<'_> {
        self.ended.fd()
    }

    /// Makes [`Self::ended_fd`] unreadable until the next flow ends.
    pub fn reset_ended(&self) {
        self.ended.reset();
    }

    /// Reads all flows' counters as reading number `tick`.
    pub fn sample(&self, tick: u64) -> Vec<Sample> {
        self.flows.iter().map(|flow| flow.sample(tick)).collect()
    }

    /// Reads the counters of the flows that have not ended.
    pub fn sample_running(&self, tick: u64) -> Vec<Sample> {
        self.flows
            .iter()
            .filter(|flow| flow.context.counters.ended_ns().is_none())
            .map(|flow| flow.sample(tick))
            .collect()
    }

    /// The number of flows.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// `true` when it has no flows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Payload bytes sent and received so far, over all flows: grows as long as any flow makes progress.
    pub fn progress(&self) -> u64 {
        self.flows
            .iter()
            .map(|flow| flow.context.counters.bytes.load(Relaxed))
            .sum()
    }

    /// The time at which payload arrived last, over all flows, ns of the monotonic clock; 0 before any did.
    pub fn last_arrival_ns(&self) -> u64 {
        self.with_role(Role::Receiver)
            .map(|flow| flow.context.counters.last_ns.load(Relaxed))
            .max()
            .unwrap_or(0)
    }

    /// Payload bytes that have arrived so far, over all flows, those included that wait behind a gap.
    pub fn received_bytes(&self) -> u64 {
        let arrived = |flow: &FlowThread| {
            let waiting = flow.waiting_bytes();
            flow.context.counters.bytes.load(Relaxed) + waiting
        };
        self.with_role(Role::Receiver).map(arrived).sum()
    }

    /// Payload bytes handed to the kernel, over all flows in which this end sends.
    pub fn sent_bytes(&self) -> u64 {
        let sent = |flow: &FlowThread| flow.context.counters.bytes.load(Relaxed);
        self.with_role(Role::Sender).map(sent).sum()
    }

    /// Tells the flows in which this end sends when they will be stopped, ns of the monotonic clock.
    pub fn stop_senders_at(&self, at_ns: u64) {
        for flow in self.with_role(Role::Sender) {
            flow.context.signals.stop_at(at_ns);
        }
    }

    /// Ends the flows in which this end sends; the others go on.
    pub fn stop_senders(&self) {
        for flow in self.with_role(Role::Sender) {
            flow.context.signals.stop();
            if let (Some(stream), StopAction::HalfClose) =
                (flow.context.socket.tcp(), self.stop_action)
            {
                let _ = shutdown_write(stream);
            }
        }
        self.gate.open();
    }

    /// Ends the flows in which this end receives; the others go on.
    pub fn stop_receivers(&self) {
        for flow in self.with_role(Role::Receiver) {
            flow.context.signals.stop();
            if let Some(stream) = flow.context.socket.tcp() {
                let _ = stream.shutdown(Shutdown::Read);
            }
        }
    }

    /// Half-closes the connections on which this end sends: the other end sees where they end.
    pub fn half_close_senders(&self) {
        for flow in self.with_role(Role::Sender) {
            if let Some(stream) = flow.context.socket.tcp() {
                let _ = shutdown_write(stream);
            }
        }
    }

    /// Ends every flow.
    pub fn stop_all(&self) {
        for flow in self.flows.iter().filter(|flow| !flow.is_joined()) {
            flow.context.signals.stop();
            flow.context.socket.shut_down();
        }
        self.gate.open();
    }

    /// Tells the receiver of `flow` how many datagrams were sent in total.
    pub fn expect_datagrams(&self, flow: u32, datagrams: u64) {
        for thread in self.flows.iter().filter(|thread| thread.flow.id == flow) {
            thread.context.signals.expect_datagrams(datagrams);
        }
    }

    /// Datagrams sent on each UDP flow in which this end sends: (flow, datagrams).
    pub fn sent_datagrams(&self) -> Vec<(u32, u64)> {
        self.with_role(Role::Sender)
            .filter(|flow| flow.context.socket.udp().is_some())
            .map(|flow| (flow.flow.id, flow.context.counters.datagrams.load(Relaxed)))
            .collect()
    }

    /// `true` when all flows in which this end has `role` have ended.
    pub fn is_over(&self, role: Role) -> bool {
        self.with_role(role)
            .all(|flow| flow.context.signals.is_over())
    }

    /// `true` when all flows have ended.
    pub fn is_all_over(&self) -> bool {
        self.flows.iter().all(|flow| flow.context.signals.is_over())
    }

    /// The flows that have ended since the last call, each with its end in ns after its start.
    pub fn take_ended(&mut self) -> Vec<(FlowEnd, u64)> {
        self.flows
            .iter_mut()
            .filter(|flow| !flow.is_reported && flow.context.signals.is_over())
            .map(|flow| {
                flow.is_reported = true;
                flow.join();
                (flow.end(), flow.ended_ns())
            })
            .collect()
    }

    /// The flows that have ended because they lost the other end.
    pub fn lost_peers(&self) -> Vec<u32> {
        let lost = self.flows.iter().filter(|flow| flow.is_peer_lost());
        lost.map(|flow| flow.flow.id).collect()
    }

    /// Waits for all threads, which must have been stopped, and gives the final report of each flow.
    pub fn finish(mut self) -> Vec<FlowEnd> {
        self.join();
        self.flows.iter().map(FlowThread::end).collect()
    }

    fn with_role(&self, role: Role) -> impl Iterator<Item = &FlowThread> {
        self.flows.iter().filter(move |flow| flow.role == role)
    }

    fn join(&mut self) {
        self.flows.iter_mut().for_each(FlowThread::join);
    }
}

impl Drop for FlowSet {
    fn drop(&mut self) {
        if self.flows.iter().any(|flow| !flow.is_joined()) {
            self.stop_all();
            self.join();
        }
    }
}
