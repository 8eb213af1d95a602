//! A test with a server of iperf 2, as its client: connects, asks for the test in the first bytes, and carries payload.

use super::client_flows::ClientFlows;
use super::client_sockets::{ClientConnection, connect_all};
use super::end_reports::send_reports;
use super::request::{Iperf2Request, LATE};
use super::server::Iperf2Server;
use super::server_loss::{ServerLoss, ServerLosses};
use super::server_options::Iperf2Options;
use super::session_numbers::SessionNumbers;
use super::tcp::CLOSE_TIMEOUT;
use caudal_core::event::{Event, ListeningSocket};
use caudal_core::plan::{Ticks, Transport};
use caudal_core::sample::FlowEnd;
use caudal_core::text::ExternalText;
use caudal_engine::LocalOptions;
use caudal_engine::admission::Admission;
use caudal_engine::server::{FlowLimits, FlowWatch, SampledFlows, StopReason};
use caudal_flow::{FlowSet, RunError, UserInterrupt, await_close};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;
use caudal_wire::iperf2::TestMode;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The time to wait for a server that is to connect back.
const CONNECT_BACK_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum duration of a test in which the server connects back, where it has no time of its own.
const MAX_BACK_TIME: Duration = Duration::from_secs(3600);
/// The time a test that ends by bytes may go on without one.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Minimum interval.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// Something that a test of iperf 2 ended without.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Iperf2Failure {
    /// The flows did not end by themselves.
    #[error(transparent)]
    Stopped(#[from] StopReason),
    /// A flow failed.
    #[error("{0}")]
    Flow(ExternalText),
    /// The server was lost.
    #[error(transparent)]
    Server(#[from] ServerLoss),
    /// The server did not connect back.
    #[error(
        "the server did not connect back to port {port}; a firewall or address translation may be between"
    )]
    NotConnectedBack {
        /// The port it was to connect to.
        port: u16,
    },
}

/// The outcome of a test.
#[derive(Debug, Clone, Default)]
pub struct Iperf2Outcome {
    /// The final reports of this end.
    pub ends: Vec<FlowEnd>,
    /// The failures of a test that reached its end all the same.
    pub failures: Vec<Iperf2Failure>,
}

/// The flows of a test when all have ended.
pub(super) struct EndedFlows {
    /// The final reports of this end.
    pub(super) ends: Vec<FlowEnd>,
    /// The reason why they were stopped.
    pub(super) reason: Option<StopReason>,
    /// The flows that lost their connection.
    pub(super) lost: Vec<u32>,
    /// The flows of which the server was to report and did not.
    unreported: Vec<u32>,
    /// The times at which they ended, ns after the start.
    ended: Vec<(u32, u64)>,
}

impl EndedFlows {
    /// What they tell of the server.
    pub(super) fn losses<'a>(&'a self, request: &'a Iperf2Request) -> ServerLosses<'a> {
        ServerLosses {
            request,
            reason: self.reason,
            lost: &self.lost,
            unreported: &self.unreported,
            ended: &self.ended,
        }
    }
}

/// Carries the flows of a request out over its connections, which the set keeps open.
///
/// # Errors
/// When they cannot begin.
pub(super) fn carry_out(
    request: &Iperf2Request,
    options: &LocalOptions,
    connections: &[ClientConnection],
    limits: FlowLimits<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<(FlowSet, EndedFlows), RunError> {
    let (sender, answers) = channel();
    let flows = ClientFlows {
        request,
        options,
        answers: sender,
    };
    let mut set = flows.start(connections)?;
    drop(flows);
    let mut ended = Vec::new();
    let (ends, reason) = FlowWatch::new(limits, &set).run(&mut set, &mut |event| {
        if let Event::FlowEnded(flow) = &event {
            ended.push((flow.end.flow, flow.at_ns));
        }
        events(event);
    });
    events(Event::Ending);
    let unreported = send_reports(&answers, events);
    let lost = set.lost_peers();
    let ended = EndedFlows {
        ends,
        reason,
        lost,
        unreported,
        ended,
    };
    Ok((set, ended))
}

/// The outcome of a test whose flows have ended.
fn outcome(ended: &EndedFlows, request: &Iperf2Request) -> Iperf2Outcome {
    let losses = ended.losses(request);
    let mut failures = Vec::new();
    for end in &ended.ends {
        match (losses.loss(end), &end.failure) {
            (Some(loss), _) => failures.push(Iperf2Failure::Server(loss)),
            (None, Some(failure)) => failures.push(Iperf2Failure::Flow(failure.clone())),
            (None, None) => {}
        }
    }
    // That the time is over says nothing about a server that was lost.
    let is_told = |reason: &StopReason| *reason != StopReason::TimeOver || failures.is_empty();
    let reason = ended.reason.filter(is_told);
    failures.splice(0..0, reason.map(Iperf2Failure::from));
    Iperf2Outcome {
        ends: ended.ends.clone(),
        failures,
    }
}

/// A client of iperf 2.
pub struct Iperf2Client<'a> {
    request: &'a Iperf2Request,
    interrupt: UserInterrupt,
}

impl<'a> Iperf2Client<'a> {
    /// The client of a request.
    #[must_use]
    pub const fn new(request: &'a Iperf2Request, interrupt: Option<&'static Interrupt>) -> Self {
        Self {
            request,
            interrupt: UserInterrupt(interrupt),
        }
    }

    /// Carries out the test until it has ended or the user interrupts it.
    ///
    /// # Errors
    /// When it cannot begin.
    pub fn run(&self, events: &mut dyn FnMut(Event)) -> Result<Iperf2Outcome, RunError> {
        let request = self.request;
        let listener = self.listen(events)?;
        let connections = connect_all(request, events)?;
        if request.connect_only {
            return Ok(Iperf2Outcome::default());
        }
        if let Some(delay) = request.start_delay {
            // An interrupt ends the wait, and then the test.
            let _ = poll_readable(&self.interrupt.fds(), Some(delay));
        }
        let options = LocalOptions::default();
        let (set, ended) = carry_out(request, &options, &connections, self.limits(), events)?;
        let mut outcome = outcome(&ended, request);
        self.close(&connections, set);
        if let Some((server, admission)) = listener {
            outcome.failures.extend(self.await_connect_back(&admission));
            server.stop();
        }
        Ok(outcome)
    }

    fn limits(&self) -> FlowLimits<'static> {
        let request = self.request;
        let receives = request.receives();
        let time = request.time.filter(|_| request.bytes.is_none());
        FlowLimits {
            ticks: request
                .interval
                .map(|interval| Ticks::new(interval.max(MIN_INTERVAL), Duration::ZERO, None)),
            sampled: SampledFlows::Running,
            send_time: request.send_time(),
            total_time: time.filter(|_| receives).map(|time| time + LATE),
            idle_timeout: request.bytes.filter(|_| receives).map(|_| IDLE_TIMEOUT),
            stop: self.interrupt.fds(),
            ..FlowLimits::none()
        }
    }

    /// Closes the connections. One that both ends send on is closed when the server has closed it.
    fn close(&self, connections: &[ClientConnection], set: FlowSet) {
        if self.request.mode == TestMode::FullDuplex {
            for connection in connections {
                if let Some(stream) = connection.socket.tcp() {
                    let _ = await_close(stream, CLOSE_TIMEOUT);
                }
            }
        }
        drop(set);
    }

    /// Listens for the server, where it is to connect back.
    fn listen(
        &self,
        events: &mut dyn FnMut(Event),
    ) -> Result<Option<(Iperf2Server, Admission)>, RunError> {
        let request = self.request;
        if !request.is_connected_back() {
            return Ok(None);
        }
        let allowed = request.peer.ip().to_canonical().to_string().parse();
        let allowed: Vec<_> = allowed.into_iter().collect();
        let admission = Admission::new(allowed.clone(), request.parallel as usize);
        let options = Iperf2Options {
            bind: request.binding.address,
            v6: request.peer.is_ipv6(),
            port: request.listen_port,
            tcp: !request.is_udp(),
            udp: request.is_udp(),
            interval: request.interval,
            window: request.window,
            connect_back: false,
            // This end has chosen its server.
            trusted: allowed,
            count_reads: request.count_reads,
            numbers: SessionNumbers::after(request.parallel),
            views: request.views.clone(),
            ..Iperf2Options::default()
        };
        let events_of_sessions = request.session_events.clone();
        let server = Iperf2Server::start(options, admission.clone(), events_of_sessions)?;
        let buffers = server.receive_buffers();
        events(Event::Listening(ListeningSocket {
            transport: request.transport,
            port: server.port(),
            receive_buffer_bytes: match request.transport {
                Transport::Tcp => buffers.tcp,
                Transport::Udp => buffers.udp,
            },
        }));
        Ok(Some((server, admission)))
    }

    /// Waits until the server has connected back and has ended: the failure, when it did not.
    fn await_connect_back(&self, admission: &Admission) -> Option<Iperf2Failure> {
        let expected = self.request.parallel as usize;
        let began_ns = monotonic_ns();
        let time = self.request.time.unwrap_or(MAX_BACK_TIME);
        let max = time + CONNECT_BACK_TIMEOUT + LATE;
        loop {
            let (served, in_use) = (admission.served(), admission.in_use());
            if served >= expected && in_use == 0 {
                return None;
            }
            let waited = Duration::from_nanos(monotonic_ns() - began_ns);
            let is_missing = served + in_use < expected;
            if is_missing && waited > CONNECT_BACK_TIMEOUT || waited > max {
                return Some(Iperf2Failure::NotConnectedBack {
                    port: self.request.listen_port,
                });
            }
            let wait = Some(Duration::from_millis(10));
            if self.interrupt.is_set() {
                return None;
            }
            let _ = poll_readable(&self.interrupt.fds(), wait);
        }
    }
}
