//! The server's half of a round-trip test: every message is sent back whole.
//!
//! One thread for each connection, so that none waits for another. A TCP message is read whole before any of it is sent back; a
//! datagram is sent back as it came, on a schedule with the times of [`caudal_wire::echo`] written into it.

use crate::workload::limits::ServerLimits;
use crate::workload::workload::{FinishedServer, OpenFlow, ServerEnding, ServerHalf};
use caudal_core::event::EndedTest;
use caudal_core::marks::MarkCounter;
use caudal_core::plan::{EchoPlan, EchoSchedule, MAX_DATAGRAM, PlannedFlow};
use caudal_core::sample::{Counters, FlowEnd};
use caudal_flow::rtt::{MessageBuffer, send_udp};
use caudal_flow::socket::{DataSocket, granted_tcp, granted_udp, is_too_large};
use caudal_flow::{
    FlowCounters, FlowSignals, LimitReached, PlannedEnd, RunError, SessionLimits, TestLimit, Waker,
    Wakeup, reply_to_proof,
};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::udp::receive_with_tos;
use caudal_wire::datagram::{OPENING_BYTES, OpeningDatagram};
use caudal_wire::echo::{ANNOUNCEMENT_BYTES, Announcement, stamp_reply};
use caudal_wire::final_report::{FinalReport, FlowsReport};
use caudal_wire::message::ToClient;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};

const STACK_BYTES: usize = 64 << 10;
/// The number of mean gaps of a schedule that may pass without a message: an exponential gap is longer once in ten million.
const MAX_GAPS: u32 = 16;

/// One connection with its thread.
struct EchoThread {
    flow: PlannedFlow,
    socket: Arc<DataSocket>,
    counters: Arc<FlowCounters>,
    signals: Arc<FlowSignals>,
    thread: Option<JoinHandle<(io::Result<()>, MarkCounter)>>,
}

impl EchoThread {
    fn spawn(
        plan: &EchoPlan,
        open: OpenFlow,
        limit: &Arc<TestLimit>,
        ended: Waker,
    ) -> Result<Self, RunError> {
        let mut echo = Self {
            flow: open.flow,
            socket: Arc::new(open.socket),
            counters: Arc::default(),
            signals: Arc::default(),
            thread: None,
        };
        let (socket, counters, signals) = (
            Arc::clone(&echo.socket),
            Arc::clone(&echo.counters),
            Arc::clone(&echo.signals),
        );
        let limit = Arc::clone(limit);
        let max_size = plan.sizes.iter().max().copied().unwrap_or(1);
        let is_stamped = plan.is_scheduled();
        let thread = thread::Builder::new()
            .name(format!("echo {}", open.flow.id))
            .stack_size(STACK_BYTES)
            .spawn(move || {
                counters.attach_thread();
                let mut marks = MarkCounter::default();
                let result = match &*socket {
                    DataSocket::Tcp(stream) => {
                        echo_tcp(stream, max_size, &limit, &counters, &signals)
                    }
                    DataSocket::Udp(socket) => {
                        echo_udp(socket, is_stamped, &limit, &counters, &signals, &mut marks)
                    }
                };
                counters.detach_thread();
                ended.wake();
                (result, marks)
            })
            .map_err(|cause| RunError::local("starting a thread", cause))?;
        echo.thread = Some(thread);
        Ok(echo)
    }

    fn stop(&self) {
        self.signals.stop();
        self.socket.shut_down();
    }

    /// Stops the connection, waits for its thread and gives the final report.
    fn finish(mut self) -> FlowEnd {
        let granted = match &*self.socket {
            DataSocket::Tcp(stream) => granted_tcp(stream, false),
            DataSocket::Udp(socket) => granted_udp(socket),
        };
        self.stop();
        let (failure, marks) = match self.thread.take().map(JoinHandle::join) {
            None => (None, None),
            Some(Ok((result, marks))) => {
                let failure = result.err().map(|cause| cause.to_string());
                (failure, marks.counts())
            }
            Some(Err(_)) => {
                let failure = "its thread ended in an error of the program";
                (Some(failure.to_owned()), None)
            }
        };
        FlowEnd {
            flow: self.flow.id,
            counters: Counters::Receiver(self.counters.receiver(0)),
            granted,
            spacing: None,
            trace: None,
            sequence: None,
            marks,
            ecn_seen: None,
            ecn_arrived: None,
            delay: None,
            failure: failure.map(Into::into),
        }
    }
}

impl Drop for EchoThread {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stop();
            let _ = thread.join();
        }
    }
}

/// The server's half of a round-trip test.
pub(crate) struct RttServerHalf {
    plan: EchoPlan,
    echoes: Vec<EchoThread>,
    limit: Arc<TestLimit>,
    /// Woken when a connection has ended.
    ended: Wakeup,
    client_stopped: bool,
}

impl RttServerHalf {
    /// Starts a thread on each connection of a test that ends so.
    pub(crate) fn spawn(
        plan: &EchoPlan,
        flows: Vec<OpenFlow>,
        limits: &SessionLimits,
        end: PlannedEnd,
    ) -> Result<Self, RunError> {
        let limit = Arc::new(TestLimit::new(limits, end));
        let pipe = |cause| RunError::local("opening a pipe", cause);
        let mut half = Self {
            plan: plan.clone(),
            echoes: Vec::with_capacity(flows.len()),
            ended: Wakeup::new().map_err(pipe)?,
            limit,
            client_stopped: false,
        };
        for open in flows {
            half.limit.add_receiver();
            let ended = half.ended.waker().map_err(pipe)?;
            half.echoes
                .push(EchoThread::spawn(plan, open, &half.limit, ended)?);
        }
        Ok(half)
    }
}

impl ServerHalf for RttServerHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.ended.fd()]
    }

    fn due_ns(&self) -> Option<u64> {
        None
    }

    fn start(&mut self) {
        self.limit.start(monotonic_ns());
    }

    fn limit_reached(&self, now_ns: u64) -> Option<LimitReached> {
        self.limit.reached(now_ns)
    }

    fn limit_due_ns(&self) -> Option<u64> {
        self.limit.due_ns()
    }

    fn ending(&self, limits: &ServerLimits) -> ServerEnding {
        let mut idle = limits.idle_timeout;
        if let EchoSchedule::Every { period, .. } = self.plan.schedule {
            idle = idle.max(period * MAX_GAPS);
        }
        ServerEnding {
            overdue_ns: None,
            idle_ns: idle.as_nanos() as u64,
        }
    }

    fn advance(&mut self, _now_ns: u64) -> Vec<ToClient> {
        self.ended.reset();
        Vec::new()
    }

    fn client_stopped(&mut self, _is_immediate: bool, _sent: &[(u32, u64)]) {
        self.client_stopped = true;
    }

    fn is_over(&self) -> bool {
        self.client_stopped
    }

    /// Messages sent back so far, over all connections.
    fn progress(&self) -> u64 {
        self.echoes
            .iter()
            .map(|echo| echo.counters.datagrams.load(Relaxed))
            .sum()
    }

    fn finish(self: Box<Self>) -> FinishedServer {
        let flows: Vec<FlowEnd> = self.echoes.into_iter().map(EchoThread::finish).collect();
        let bytes = flows.iter().map(|flow| match flow.counters {
            Counters::Receiver(counters) => counters.bytes,
            Counters::Sender(counters) => counters.bytes,
        });
        let bytes = bytes.sum();
        FinishedServer {
            report: FinalReport::Flows(FlowsReport {
                flows,
                arrivals: None,
            }),
            ended: EndedTest {
                received_bytes: bytes,
                sent_bytes: bytes,
                ..EndedTest::default()
            },
        }
    }
}

/// Sends messages back as announced until the client closes.
fn echo_tcp(
    mut stream: &TcpStream,
    max_size: u32,
    limit: &TestLimit,
    counters: &FlowCounters,
    signals: &FlowSignals,
) -> io::Result<()> {
    let mut buffer = MessageBuffer::new(limit)?;
    let mut announcement = [0; ANNOUNCEMENT_BYTES];
    while !is_over(stream.read_exact(&mut announcement), signals)? {
        let Some(Announcement { size, count }) = Announcement::decode(&announcement, max_size)
        else {
            let _ = stream.shutdown(Shutdown::Both);
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it announced messages that are not of the plan",
            ));
        };
        // Its echo signals to the client that messages may follow.
        if is_over(stream.write_all(&announcement), signals)? {
            break;
        }
        for _ in 0..count {
            let read = buffer.read(stream, size as usize, limit, signals);
            let written = match read {
                Ok(Some(message)) => stream.write_all(message),
                Ok(None) => return Ok(()),
                Err(cause) => Err(cause),
            };
            if is_over(written, signals)? {
                return Ok(());
            }
            counters.bytes.fetch_add(u64::from(size), Relaxed);
            counters.datagrams.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

/// `true` when a connection was ended by either side.
fn is_over(done: io::Result<()>, signals: &FlowSignals) -> io::Result<bool> {
    match done {
        Ok(()) => Ok(false),
        Err(_) if signals.is_stopped() => Ok(true),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(true),
        Err(cause) => Err(cause),
    }
}

/// Sends datagrams back to the address that was proven, until the flow is stopped.
fn echo_udp(
    socket: &UdpSocket,
    is_stamped: bool,
    limit: &TestLimit,
    counters: &FlowCounters,
    signals: &FlowSignals,
    marks: &mut MarkCounter,
) -> io::Result<()> {
    let _memory = limit.server().memory.reserve(u64::from(MAX_DATAGRAM))?;
    let mut buffer = vec![0; MAX_DATAGRAM as usize];
    while !signals.is_stopped() {
        let (size, tos) = match receive_with_tos(socket, &mut buffer) {
            Ok(received) => received,
            // The client has closed its socket, or a router reports it unreachable: it may come back.
            Err(cause) if is_transient(&cause) => continue,
            Err(cause) => return Err(cause),
        };
        let Some(message) = buffer.get_mut(..size) else {
            continue;
        };
        if size == OPENING_BYTES
            && let Some(opening) = OpeningDatagram::decode(message)
        {
            reply_to_proof(socket, &opening);
            continue;
        }
        if message.is_empty() {
            continue;
        }
        if let Some(tos) = tos {
            marks.add(tos, 1);
        }
        if is_stamped {
            let received_ns = monotonic_ns();
            stamp_reply(message, received_ns, monotonic_ns());
        }
        if !limit.wait_to_read(signals) {
            return Ok(());
        }
        if !limit.is_unlimited() {
            limit
                .take_stream(size as u64, monotonic_ns())
                .map_err(io::Error::other)?;
        }
        if send_udp(socket, message).is_ok() {
            counters.bytes.fetch_add(size as u64, Relaxed);
            counters.datagrams.fetch_add(1, Relaxed);
        } else {
            counters.send_errors.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

/// `true` for an ICMP error about an earlier datagram, and for a signal.
fn is_transient(cause: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable};
    matches!(
        cause.kind(),
        ConnectionRefused | HostUnreachable | Interrupted | NetworkUnreachable
    ) || is_too_large(cause)
}
