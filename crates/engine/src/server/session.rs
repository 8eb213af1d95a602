//! A session of a native client: greeted, then tests one after another.

use super::greeting::greet;
use super::mtu_probes::ProbingSession;
use super::session_control::SessionControl;
use super::session_event::SessionEventKind;
use super::session_watch::SessionWatch;
use super::state::ServerState;
use super::stop_watch::StopWatch;
use super::test_registry::AnsweringTest;
use super::test_sockets::{STEP_NS, TestEntry, TestSockets};
use crate::admission::ClientSlot;
use crate::peer::native::control::ControlChannel;
use crate::workload::{self, FinishedServer, ServerHalf, ServerLimits};
use caudal_core::event::{Agreement, CutShort, EndedTest, Event};
use caudal_core::plan::{Plan, PlanRecord};
use caudal_core::text::ExternalText;
use caudal_flow::RunError;
use caudal_host::UsageMeter;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::frame::MAX_TO_SERVER_BYTES;
use caudal_wire::message::{Refusal, ToClient, ToServer};
use caudal_wire::preamble::PreambleAnswer;
use caudal_wire::protocol::Protocol;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};

/// The least time between two reports of the progress of a test, ns.
const PROGRESS_NS: u64 = 1_000_000_000;

/// Serves one client from its first message to its last.
pub(super) fn serve(
    state: &ServerState,
    stream: TcpStream,
    peer: SocketAddr,
    number: u64,
    slot: &ClientSlot,
) {
    let mut session = match Session::begin(state, stream, peer, number, slot) {
        Ok(session) => session,
        Err(error) => {
            state.send_refused(Protocol::Native, peer, error.into());
            return;
        }
    };
    match session.serve_tests() {
        // The client has left, or knows that the server is stopping.
        Ok(())
        | Err(
            RunError::Lost { .. }
            | RunError::Refused {
                reason: Refusal::Stopping,
                ..
            },
        ) => {}
        Err(error) => state.send_refused(Protocol::Native, peer, error.into()),
    }
    session.send_event(SessionEventKind::Left);
}

/// A client's session.
struct Session<'a> {
    control: SessionControl<'a>,
    peer: SocketAddr,
    number: u64,
    slot: &'a ClientSlot,
    /// What holds for each of its tests; `None` before the first.
    limits: Option<ServerLimits>,
    /// Its probes of the path MTU are answered as long as it lasts.
    _probing: ProbingSession<'a>,
}

impl<'a> Session<'a> {
    /// Exchanges greetings.
    fn begin(
        state: &'a ServerState,
        mut stream: TcpStream,
        peer: SocketAddr,
        number: u64,
        slot: &'a ClientSlot,
    ) -> Result<Self, RunError> {
        let lost = |cause| RunError::Lost {
            doing: "greeting it",
            cause,
        };
        stream.set_nonblocking(false).map_err(lost)?;
        stream
            .write_all(&PreambleAnswer::Welcome.encode())
            .map_err(lost)?;
        let channel = ControlChannel::new(stream, peer, MAX_TO_SERVER_BYTES).map_err(lost)?;
        let probing = ProbingSession::new(&state.mtu_probes)
            .map_err(|cause| RunError::local("preparing a session", cause))?;
        let probe_token = probing.token;
        let mut session = Self {
            control: SessionControl { state, channel },
            peer,
            number,
            slot,
            limits: None,
            _probing: probing,
        };
        let client = greet(&mut session.control, peer, probe_token)?;
        slot.activity().is_active();
        session.send_event(SessionEventKind::Connected { tool: client.tool });
        if let Some(token) = client.token {
            session.send_event(SessionEventKind::Authenticated { name: token.name });
        }
        Ok(session)
    }

    /// Serves tests until the client leaves.
    fn serve_tests(&mut self) -> Result<(), RunError> {
        let idle_ns = self.control.state.options.idle_timeout.as_nanos() as u64;
        let mut since_ns = monotonic_ns();
        loop {
            self.control.check_stop()?;
            let stop = self.control.state.stop_fd();
            let received = match self.control.recv(since_ns + idle_ns, &[stop]) {
                Err(RunError::Protocol(message)) => {
                    return Err(self.control.refuse(Refusal::Protocol, message));
                }
                received => received?,
            };
            match received {
                Some(ToServer::Offer { plan }) => {
                    self.serve_offer(&plan)?;
                    self.slot.activity().is_active();
                    since_ns = monotonic_ns();
                }
                Some(ToServer::Hello { .. } | ToServer::Start | ToServer::Reduce { .. }) => {
                    let message = "no plan was offered that could start".to_owned();
                    return Err(self.control.refuse(Refusal::Protocol, message));
                }
                _ => {}
            }
            if monotonic_ns() >= since_ns + idle_ns {
                let seconds = idle_ns / 1_000_000_000;
                let message = format!("no test was asked for within {seconds} s");
                return Err(self.control.refuse(Refusal::Limit, message));
            }
            self.control.keep_alive()?;
        }
    }

    /// Carries out the plan that the client offers.
    fn serve_offer(&mut self, plan: &Plan) -> Result<(), RunError> {
        if let Err(error) = plan.check() {
            return Err(self.control.refuse(Refusal::Plan, error.to_string()));
        }
        match self.run(plan) {
            Ok(()) => Ok(()),
            // Sent to the client already, or there is nobody to send it to.
            Err(
                error
                @ (RunError::Refused { .. } | RunError::Lost { .. } | RunError::Silent { .. }),
            ) => Err(error),
            Err(RunError::Protocol(message)) => {
                Err(self.control.refuse(Refusal::Protocol, message))
            }
            Err(error @ RunError::File(_)) => {
                Err(self.control.refuse(Refusal::File, error.to_string()))
            }
            Err(
                error @ (RunError::Memory(_)
                | RunError::LargeFile { .. }
                | RunError::BeyondLimit(_)),
            ) => Err(self.control.refuse(Refusal::Limit, error.to_string())),
            Err(error) => {
                let error = error.with_needed_descriptors(plan.sockets());
                Err(self.control.refuse(Refusal::Host, error.to_string()))
            }
        }
    }

    fn run(&mut self, plan: &Plan) -> Result<(), RunError> {
        let state = self.control.state;
        let of_client = || state.options.limits(self.peer.ip());
        let limits = self.limits.get_or_insert_with(of_client).clone();
        let mut workload = workload::from_plan(plan);
        let changed = workload.accept(&limits)?;
        let changed: Vec<ExternalText> = changed.into_iter().map(Into::into).collect();
        let plan = workload.plan();
        let entry = TestEntry::new(state)?;
        let token = entry.token;
        self.control.send(&ToClient::Accepted {
            plan: plan.clone(),
            token: token.to_hex(),
            changed: changed.clone(),
        })?;
        let flows: Vec<_> = plan
            .flows()
            .into_iter()
            .map(|flow| (flow, workload.socket_settings(&flow)))
            .collect();
        let collected = TestSockets::new(entry, &plan, &flows).collect(&mut self.control)?;
        let open = collected.flows;
        let plan = match collected.reduced {
            Some(reduced) => {
                workload = workload::from_plan(&reduced);
                reduced
            }
            None => plan,
        };
        let meter = UsageMeter::start(self.peer);
        let mut half = workload.server_half(open, token, &limits)?;
        let _answering = half
            .connection_answer()
            .map(|answer| AnsweringTest::new(&state.tests, token, answer));
        self.control.send(&ToClient::Ready)?;
        self.await_start()?;
        self.slot.test_begins();
        half.start();
        self.control.send(&ToClient::Started)?;
        let start_ns = monotonic_ns();
        let running = state.test_times.begin(monotonic_ns);
        self.send_test_event(Event::Agreed(Agreement {
            repeat: None,
            plan: PlanRecord::from(&plan),
            changed,
        }));
        self.send_test_event(Event::Started { repeat: None });
        let mut watch = SessionWatch::new(start_ns, half.ending(&limits));
        self.control.channel.set_patience(plan.patience());
        let mut stops = StopWatch::start(self.control.channel.stream(), start_ns);
        let attended = self.attend(&mut *half, &mut watch, &mut stops);
        let finished = half.finish();
        let usage = meter.read();
        let other_tests = running.others();
        drop(running);
        self.send_ended(&finished, start_ns, &attended);
        let stopped = attended?;
        let own = stops.finish();
        self.control.send(&ToClient::Finished {
            report: finished.report,
            usage,
            stopped,
            other_tests,
            stops: own.stops,
            clock_steps: own.clock_steps,
            interface: own.interface.events,
            routes: own.interface.routes,
        })
    }

    fn await_start(&mut self) -> Result<(), RunError> {
        let until_ns = monotonic_ns() + STEP_NS;
        loop {
            let stop = self.control.state.stop_fd();
            match self.control.recv(until_ns, &[stop])? {
                Some(ToServer::Start) => return Ok(()),
                Some(_) => return Err(RunError::Protocol("expected the start".into())),
                None => {}
            }
            self.control.check_stop()?;
            if monotonic_ns() >= until_ns {
                return Err(RunError::Silent {
                    waiting_for: "the start",
                    seconds: STEP_NS / 1_000_000_000,
                });
            }
            self.control.keep_alive()?;
        }
    }

    /// Exchanges messages with the client until the test is over: the reason why it ended early.
    fn attend(
        &mut self,
        half: &mut dyn ServerHalf,
        watch: &mut SessionWatch,
        stops: &mut StopWatch,
    ) -> Result<Option<ExternalText>, RunError> {
        let mut arrived = 0;
        let mut told_ns = monotonic_ns();
        loop {
            let now_ns = monotonic_ns();
            for message in half.advance(now_ns) {
                self.control.send(&message)?;
            }
            if now_ns >= told_ns + PROGRESS_NS {
                told_ns = now_ns;
                self.send_event(SessionEventKind::Progress(half.payload()));
            }
            let (moved, enough) = half.moved();
            self.slot.activity().test_moves(moved, enough, now_ns);
            if watch.is_over(now_ns, half.is_over()) {
                return Ok(None);
            }
            if self.control.state.is_stopping() {
                for message in half.stopped() {
                    self.control.send(&message)?;
                }
                return Ok(Some("the server was stopped".into()));
            }
            if let Some(reached) = half.limit_reached(now_ns) {
                return Ok(Some(reached.to_string().into()));
            }
            let arrived_bytes = half.arrived_bytes();
            if arrived_bytes != arrived {
                arrived = arrived_bytes;
                self.control.channel.payload_arrived(now_ns);
            }
            if let Some(reason) = watch.stop_reason(now_ns, half.progress()) {
                return Ok(Some(reason.to_string().into()));
            }
            self.control.keep_alive()?;
            let own_ns = [half.due_ns(), half.limit_due_ns()];
            let until_ns = own_ns.into_iter().flatten().fold(watch.due_ns(), u64::min);
            let mut others = half.wakeup_fds();
            others.push(self.control.state.stop_fd());
            let received = self.control.recv(stops.wait_until_ns(until_ns), &others)?;
            stops.look();
            match received {
                Some(ToServer::Stop { now, sent }) => {
                    half.client_stopped(now, &sent);
                    watch.client_stopped(monotonic_ns());
                }
                Some(_) => return Err(RunError::Protocol("a test is running".into())),
                None => {}
            }
        }
    }

    fn send_ended(
        &self,
        finished: &FinishedServer,
        start_ns: u64,
        attended: &Result<Option<ExternalText>, RunError>,
    ) {
        let cut_short = match attended {
            Ok(stopped) => stopped
                .clone()
                .map(CutShort::ByServer)
                .or_else(|| finished.ended.cut_short.clone()),
            Err(error) => Some(CutShort::Lost(error.to_string().into())),
        };
        self.send_test_event(Event::Ended(EndedTest {
            elapsed_s: (monotonic_ns() - start_ns) as f64 / 1e9,
            cut_short,
            ..finished.ended.clone()
        }));
    }

    fn send_test_event(&self, event: Event) {
        self.send_event(SessionEventKind::Event(Box::new(event)));
    }

    fn send_event(&self, kind: SessionEventKind) {
        self.control
            .state
            .send_event(self.number, Protocol::Native, self.peer, kind);
    }
}
