//! A session of a client of iperf 2: one test, on the connection it made and perhaps one that connects back.

use super::datagram_sender::EndAnswer;
use super::end_reports::send_reports;
use super::server_state::Iperf2State;
use super::session_view::Iperf2Session;
use super::transit_histogram::{FlowHistograms, TransitHistogram};
use caudal_core::event::{CutShort, EndedTest, Event};
use caudal_core::plan::{Direction, PlannedFlow, Ticks, Transport};
use caudal_core::sample::{Counters, FlowEnd, Role};
use caudal_engine::ClientRefusal;
use caudal_engine::admission::ClientSlot;
use caudal_engine::server::{FlowLimits, FlowWatch, SampledFlows, StopReason};
use caudal_engine::server::{SessionEventKind, SessionView};
use caudal_flow::socket::{
    DataSocket, canonical, data_connection, granted_batched_udp, granted_tcp,
};
use caudal_flow::{FlowSet, FlowWork, NewFlow, PlannedEnd, RunError, StopAction, TestLimit};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::iperf2::{HeaderExtension, TestHeader, TestMode};
use caudal_wire::message::Refusal;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Minimum interval.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// A session of a client.
pub(super) struct Iperf2ServerSession<'a> {
    pub(super) state: &'a Iperf2State,
    slot: &'a ClientSlot,
    /// The test the client asks for, where it sends a header.
    pub(super) header: Option<TestHeader>,
    pub(super) local: SocketAddr,
    pub(super) test: Iperf2Session,
    /// The channel for the answers to the ends of UDP flows.
    pub(super) answers: Sender<EndAnswer>,
    arrived_answers: Receiver<EndAnswer>,
    view: Option<Box<dyn SessionView>>,
    next_flow: u32,
    /// The maximum time without a byte after the first ones.
    pub(super) first_timeout: Option<Duration>,
    /// The time at which the client was first served; `None` once its flows have run.
    began_ns: Option<u64>,
}

/// The outcome of the flows of a session.
pub(super) struct SessionOutcome {
    /// The reason why they were stopped.
    pub(super) reason: Option<StopReason>,
    pub(super) failure: Option<ClientRefusal>,
}

impl<'a> Iperf2ServerSession<'a> {
    /// The session of a client that asks for the test of `header`.
    pub(super) fn new(
        state: &'a Iperf2State,
        slot: &'a ClientSlot,
        header: Option<TestHeader>,
        transport: Transport,
        local: SocketAddr,
        peer: SocketAddr,
    ) -> Self {
        let extended = header.and_then(|header| header.extended);
        let threads = header.map_or(1, |header| header.threads);
        let group =
            state
                .options
                .numbers
                .groups()
                .join(peer.ip(), transport, threads, monotonic_ns());
        let trip_times = extended.is_some_and(|extended| extended.trip_times);
        let (answers, arrived_answers) = channel();
        Self {
            state,
            slot,
            header,
            local: canonical(local),
            test: Iperf2Session {
                peer,
                number: state.next_number(),
                mode: header.map_or(TestMode::Up, |header| header.mode),
                group: group.group,
                members: group.members,
                version: extended
                    .and_then(|extended| extended.version_text())
                    .map(Into::into),
                no_udp_fin: false,
                trip_times,
                tos: extended
                    .map(|extended| extended.tos as u8)
                    .filter(|tos| *tos != 0)
                    .or(state.options.tos)
                    .unwrap_or(0),
                bounceback: None,
                histograms: state
                    .options
                    .histogram_bins
                    .filter(|_| trip_times)
                    .map(|bins| FlowHistograms::new(bins, 1)),
            },
            answers,
            arrived_answers,
            view: None,
            next_flow: 0,
            first_timeout: None,
            began_ns: Some(monotonic_ns()),
        }
    }

    /// Shows that the client is served, and makes the view of its test.
    pub(super) fn begin(&mut self) {
        let tool = match &self.test.version {
            Some(version) => format!("iperf {version}"),
            None => "iperf 2".to_owned(),
        };
        self.send_kind(SessionEventKind::Connected { tool: tool.into() });
        let views = self.state.options.views.as_ref();
        self.view = views.map(|views| views.open(&self.test));
    }

    /// The part of the header that only versions since 2.1 send.
    pub(super) fn extension(&self) -> Option<HeaderExtension> {
        self.header.and_then(|header| header.extended)
    }

    /// The histogram of a flow's one-way times, where they are counted.
    pub(super) fn histogram(&self, flow: u32) -> Option<Arc<TransitHistogram>> {
        self.test.histograms.as_ref()?.of(flow)
    }

    /// The rate the client asks for, bit/s.
    pub(super) fn requested_rate(&self) -> Option<u64> {
        self.extension()
            .map(|extended| extended.rate)
            .filter(|rate| *rate > 0)
    }

    /// The time and the bytes the client asks for, within the limits.
    pub(super) fn end(&self) -> (Option<Duration>, Option<u64>) {
        match self.header {
            Some(header) => self.state.limited_end(header.amount),
            None => (self.state.options.limits.max_time, None),
        }
    }

    /// The next flow of the session, in which this end has that role.
    pub(super) fn next_flow(&mut self, role: Role) -> PlannedFlow {
        let id = self.next_flow;
        self.next_flow += 1;
        PlannedFlow {
            id,
            direction: match role {
                Role::Receiver => Direction::Up,
                Role::Sender => Direction::Down,
            },
        }
    }

    /// Adds a flow of the connection with this number.
    pub(super) fn add_flow(
        &mut self,
        set: &mut FlowSet,
        flow: PlannedFlow,
        number: u32,
        socket: &Arc<DataSocket>,
        task: FlowWork,
    ) -> Result<(), RunError> {
        let role = caudal_flow::role(flow.direction, false);
        let peer = socket.peer_address().map_or(self.test.peer, canonical);
        let connection = data_connection(flow, number, role, socket, peer);
        self.send_event(&Event::Opened(connection));
        set.add(NewFlow {
            flow,
            role,
            socket: Arc::clone(socket),
            granted: match &**socket {
                DataSocket::Tcp(stream) => granted_tcp(stream, false),
                DataSocket::Udp(socket) => granted_batched_udp(socket, 1470),
            },
            cpu: None,
            task,
        })
    }

    /// An empty set of flows, within the limits of the server.
    pub(super) fn new_set(&self) -> Result<FlowSet, RunError> {
        let state = self.state;
        let end = match self.header {
            // This end sends, and ends by itself within the limit.
            Some(header) if header.mode == TestMode::Up => state.planned_end(header.amount),
            _ => PlannedEnd::ByItself,
        };
        let limits = state.options.limits.of_client(self.test.peer.ip());
        let limit = TestLimit::new(&limits, end);
        // The other flows of a client are sessions of their own.
        let flows = self.header.map_or(1, |header| header.threads.max(1));
        FlowSet::limited(StopAction::HalfClose, Some(limit), flows as usize)
    }

    /// Runs flows of which this end's senders stop after `time`, and that may make no progress for `idle_timeout`: the reason why
    /// they failed.
    pub(super) fn run(
        &mut self,
        mut set: FlowSet,
        time: Option<Duration>,
        idle_timeout: Duration,
    ) -> SessionOutcome {
        let state = self.state;
        let options = &state.options;
        let began_ns = match self.began_ns.take() {
            Some(began_ns) => {
                set.start_since(began_ns);
                began_ns
            }
            None => {
                set.start();
                monotonic_ns()
            }
        };
        let limits = FlowLimits {
            ticks: options
                .interval
                .map(|interval| Ticks::new(interval.max(MIN_INTERVAL), Duration::ZERO, None)),
            sampled: SampledFlows::Running,
            send_time: time,
            idle_timeout: Some(idle_timeout),
            first_timeout: self.first_timeout,
            stop: vec![state.stop.fd()],
            quit: Some(self.slot.activity().given_up()),
            activity: Some(self.slot.activity()),
            ..FlowLimits::none()
        };
        let watch = FlowWatch::new(limits, &set);
        if let (Some(time), (_, None)) = (time, self.end()) {
            // A client that closes before that has gone.
            let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            set.stop_senders_at(set.start_ns().saturating_add(time_ns));
        }
        let (ends, reason) = watch.run(&mut set, &mut |event| self.send_event(&event));
        // A flow that has reached a limit may have ended before the watch saw it.
        let reached = set.limit_reached(monotonic_ns());
        let reason = reason.or_else(|| reached.map(StopReason::Limit));
        self.send_end_reports();
        self.send_ended(&ends, began_ns, reason.as_ref());
        let lost = set.lost_peers();
        let failure = reason.as_ref().map(ClientRefusal::from).or_else(|| {
            // A client that has gone while it was sent to was not turned away.
            let is_sender = |end: &&FlowEnd| matches!(end.counters, Counters::Sender(_));
            let is_gone = |end: &&FlowEnd| is_sender(end) && lost.contains(&end.flow);
            let failed = ends.iter().filter(|end| !is_gone(end));
            let failures = failed.filter_map(|end| end.failure.clone());
            let mut failures = failures.map(|text| ClientRefusal::new(Refusal::Other, text));
            failures.next()
        });
        SessionOutcome { reason, failure }
    }

    /// Shows in the log what the flows carried.
    fn send_ended(&self, ends: &[FlowEnd], began_ns: u64, reason: Option<&StopReason>) {
        let failed = ends.iter().find_map(|end| end.failure.clone());
        let cut_short = match reason {
            None | Some(StopReason::TimeOver) => failed.map(CutShort::Lost),
            Some(reason) => Some(CutShort::ByServer(reason.to_string().into())),
        };
        let elapsed_s = monotonic_ns().saturating_sub(began_ns) as f64 / 1e9;
        let counters = ends.iter().map(|end| &end.counters);
        let ended = EndedTest::from_counters(counters, elapsed_s, cut_short);
        self.send_kind(SessionEventKind::Event(Box::new(Event::Ended(ended))));
    }

    fn send_end_reports(&mut self) {
        let mut events = Vec::new();
        send_reports(&self.arrived_answers, &mut |event| events.push(event));
        for event in &events {
            self.send_event(event);
        }
    }

    /// Sends an event to the log and to the view.
    pub(super) fn send_event(&mut self, event: &Event) {
        self.send_kind(SessionEventKind::Event(Box::new(event.clone())));
        if let Some(view) = &mut self.view {
            view.event(event);
        }
    }

    /// Shows that a part of the test could not be carried out.
    pub(super) fn send_refused(&self, peer: SocketAddr, refusal: ClientRefusal) {
        self.state.send_refused(peer, refusal);
    }

    fn send_kind(&self, kind: SessionEventKind) {
        self.state
            .send_event(self.test.number, self.test.peer, kind);
    }
}

impl Drop for Iperf2ServerSession<'_> {
    fn drop(&mut self) {
        self.send_kind(SessionEventKind::Left);
    }
}
