//! A session of a client of iperf3: one test, from its cookie to the close of its control connection.

use super::control::{ControlInput, Iperf3Control};
use super::plan::{MAX_DURATION, plan_from_parameters};
use super::registry::StreamArrival;
use super::server_options::Iperf3Session;
use super::session_error::SessionError;
use super::session_streams::StreamCollector;
use super::session_test::{ServerTest, TestEnding};
use super::streams::{Iperf3Stream, StreamTasks, congestion, data_connections, set_up};
use crate::error::RunError;
use crate::flow::role;
use crate::options::LocalOptions;
use crate::protocol::Protocol;
use crate::server::{ServerState, SessionEventKind, SessionView};
use crate::wakeup::Wakeup;
use caudal_core::event::{Agreement, CutShort, EndedTest, Event};
use caudal_core::plan::{Plan, PlanRecord, Rate, TestEnd};
use caudal_core::units::BitRate;
use caudal_sys::affinity;
use caudal_sys::clock::{Rusage, monotonic_ns, sleep_until};
use caudal_wire::iperf3::{
    ControlState, Cookie, Iperf3ErrorCode, MAX_PARAMETERS_BYTES, Parameters, TransportProtocol,
};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The time a client may take for each step, ns.
pub(super) const STEP_NS: u64 = 10_000_000_000;
/// The minimum time to the answer to a login, so that the time decrypting takes cannot be seen, ns.
const LOGIN_NS: u64 = 250_000_000;
/// The time over which a rate is averaged that the server limits for clients of any protocol.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// Serves a client whose cookie has been read.
pub(crate) fn serve(
    state: &ServerState,
    stream: TcpStream,
    peer: SocketAddr,
    number: u64,
    cookie: Cookie,
) {
    let refused = |reason: String| state.send_refused(Protocol::Iperf3, peer, reason);
    let control = match Iperf3Control::new(stream, peer) {
        Ok(control) => control,
        Err(cause) => return refused(cause.to_string()),
    };
    let entry = match RegisteredTest::new(state, cookie) {
        Ok(Some(entry)) => entry,
        Ok(None) => return refused("it repeats the cookie of a running test".to_owned()),
        Err(error) => return refused(error.to_string()),
    };
    let mut session = ServerSession {
        state,
        control,
        entry,
        number,
        view: None,
        is_connected: false,
    };
    // A client that has left needs no answer.
    if let Err(error) = session.carry_out()
        && let Some((code, reason)) = error.answer()
    {
        session.control.send_error(code);
        session.send_refused(reason);
    }
    session.close();
}

/// A test in the registry, removed when dropped.
pub(super) struct RegisteredTest<'a> {
    state: &'a ServerState,
    pub(super) cookie: Cookie,
    pub(super) arrivals: Receiver<StreamArrival>,
    pub(super) wakeup: Wakeup,
}

impl<'a> RegisteredTest<'a> {
    /// Registers a test; `None` when one with that cookie is running.
    fn new(state: &'a ServerState, cookie: Cookie) -> Result<Option<Self>, RunError> {
        let pipe = |cause| RunError::local("opening a pipe", cause);
        let wakeup = Wakeup::new().map_err(pipe)?;
        let (sender, arrivals) = channel();
        let waker = wakeup.waker().map_err(pipe)?;
        let is_new = state.iperf3_tests.insert(cookie, sender, waker);
        Ok(is_new.then_some(Self {
            state,
            cookie,
            arrivals,
            wakeup,
        }))
    }
}

impl Drop for RegisteredTest<'_> {
    fn drop(&mut self) {
        self.state.iperf3_tests.remove(&self.cookie);
    }
}

/// A client's session.
pub(super) struct ServerSession<'a> {
    pub(super) state: &'a ServerState,
    pub(super) control: Iperf3Control,
    pub(super) entry: RegisteredTest<'a>,
    pub(super) number: u64,
    pub(super) view: Option<Box<dyn SessionView>>,
    /// `true` once its client was admitted.
    is_connected: bool,
}

impl ServerSession<'_> {
    fn carry_out(&mut self) -> Result<(), SessionError> {
        let parameters = self.receive_parameters()?;
        let interval = self.state.options.iperf3.interval;
        let mut plan = plan_from_parameters(&parameters, interval);
        self.limit(&parameters, &mut plan)?;
        self.connected(&parameters);
        self.send_event(&Event::Agreed(Agreement {
            repeat: None,
            plan: PlanRecord::from(&plan),
            changed: Vec::new(),
        }));
        let streams = StreamCollector::new(self).collect(&parameters, &plan)?;
        for stream in &streams {
            let role = role(stream.flow.direction, false);
            set_up(&stream.socket, &parameters, role)
                .map_err(|error| SessionError::Code(error.code, Some(error.cause.to_string())))?;
        }
        self.run(&parameters, plan, streams)
    }

    /// Runs the test whose streams are open.
    fn run(
        &mut self,
        parameters: &Parameters,
        mut plan: Plan,
        streams: Vec<Iperf3Stream>,
    ) -> Result<(), SessionError> {
        if let Some(bulk) = plan.bulk_mut().filter(|bulk| bulk.bytes().is_none()) {
            // The client ends the test, by its own clock.
            bulk.end = TestEnd::Time(MAX_DURATION);
        }
        let options = LocalOptions {
            affinity: parameters
                .server_affinity
                .map(|cpu| vec![cpu as usize])
                .unwrap_or_default(),
            ..LocalOptions::default()
        };
        let congestion = congestion(&streams);
        let connections = data_connections(&streams, false);
        let mut set = StreamTasks::new(parameters, &plan, false).spawn(streams, &options)?;
        for connection in connections {
            self.send_event(&Event::Opened(connection));
        }
        let usage = Rusage::of_process();
        self.control
            .send(&[ControlState::TestStart, ControlState::TestRunning])?;
        set.start();
        self.send_event(&Event::Started { repeat: None });
        let flows = plan.flows();
        let mut test = ServerTest::new(self, parameters, flows, set, congestion, usage);
        let ending = test.carry_out();
        let totals = test.finish();
        match ending {
            Ok(TestEnding::Reported | TestEnding::Terminated) => Ok(()),
            Err(error) => {
                // The view shows the error in its own way.
                self.send_to_log(Event::Ended(EndedTest {
                    cut_short: Some(CutShort::Lost(error.to_string())),
                    ..totals
                }));
                Err(error)
            }
        }
    }

    /// Shows that the client was admitted, and makes the view of its test.
    fn connected(&mut self, parameters: &Parameters) {
        self.is_connected = true;
        self.send_kind(SessionEventKind::Connected {
            tool: match &parameters.client_version {
                Some(version) => format!("iperf3 {version}"),
                None => "iperf3".to_owned(),
            },
        });
        let views = self.state.options.iperf3.views.as_ref();
        self.view = views.map(|views| {
            views.open(&Iperf3Session {
                peer: self.control.peer(),
                cookie: self.entry.cookie,
                parameters: parameters.clone(),
                mss: caudal_sys::tcp::max_segment(self.control.stream()).ok(),
            })
        });
    }

    /// Sends an event to the log and to the view.
    pub(super) fn send_event(&mut self, event: &Event) {
        self.send_to_log(event.clone());
        if let Some(view) = &mut self.view {
            view.event(event);
        }
    }

    fn send_to_log(&self, event: Event) {
        self.send_kind(SessionEventKind::Event(Box::new(event)));
    }

    fn send_kind(&self, kind: SessionEventKind) {
        let peer = self.control.peer();
        self.state
            .send_event(self.number, Protocol::Iperf3, peer, kind);
    }

    /// Shows that the client was refused.
    fn send_refused(&mut self, reason: String) {
        let peer = self.control.peer();
        if let Some(view) = &mut self.view {
            view.event(&Event::Refused {
                peer: Some(peer),
                reason: reason.clone(),
            });
        }
        if self.is_connected {
            self.send_kind(SessionEventKind::Refused { reason });
        } else {
            self.state.send_refused(Protocol::Iperf3, peer, reason);
        }
    }

    /// Asks for the parameters, and checks who sends them.
    fn receive_parameters(&mut self) -> Result<Parameters, SessionError> {
        self.control.send(&[ControlState::ParamExchange])?;
        let json = self
            .control
            .recv_json(
                MAX_PARAMETERS_BYTES,
                monotonic_ns() + STEP_NS,
                "the parameters",
                &[self.state.stop_fd()],
            )
            .map_err(|error| match error {
                RunError::Lost { .. } => SessionError::Left,
                other => {
                    SessionError::Code(Iperf3ErrorCode::RECEIVE_PARAMETERS, Some(other.to_string()))
                }
            })?;
        let parameters = Parameters::decode(&json)?;
        self.check_login(&parameters)?;
        if parameters.protocol == TransportProtocol::Sctp {
            return Err(Iperf3ErrorCode::PROTOCOL.into());
        }
        if let Some(cpu) = parameters.server_affinity
            && !affinity::available_cpus().contains(&(cpu as usize))
        {
            return Err(Iperf3ErrorCode::AFFINITY.into());
        }
        Ok(parameters)
    }

    fn check_login(&self, parameters: &Parameters) -> Result<(), SessionError> {
        let Some(check) = &self.state.options.iperf3.login else {
            return Ok(());
        };
        let received_ns = monotonic_ns();
        let token = parameters.auth_token.as_deref();
        let is_known = token.is_some_and(|token| (check.0)(token));
        sleep_until(received_ns + LOGIN_NS);
        if is_known {
            return Ok(());
        }
        let reason = match token {
            Some(_) => "its login is not one of those this server answers",
            None => "it brings no login, and this server requires one",
        };
        Err(SessionError::Code(
            Iperf3ErrorCode::AUTHENTICATION,
            Some(reason.to_owned()),
        ))
    }

    /// Checks the parameters against the server's limits, and sets the plan to them.
    fn limit(&self, parameters: &Parameters, plan: &mut Plan) -> Result<(), SessionError> {
        if let Some(max_time) = self.state.options.max_time {
            let total = u64::from(parameters.time_s) + u64::from(parameters.omit_s);
            let is_endless = parameters.time_s == 0;
            if parameters.end_bytes().is_none()
                && (is_endless || Duration::from_secs(total) > max_time)
            {
                return Err(Iperf3ErrorCode::MAX_DURATION.into());
            }
        }
        if let Some((max_bps, _)) = self.rate_limit() {
            let streams = u64::from(parameters.streams());
            let rate = parameters.rate_bps.max(parameters.fq_rate_bps.unwrap_or(0));
            if rate.saturating_mul(streams) > max_bps {
                return Err(Iperf3ErrorCode::TOTAL_RATE.into());
            }
            if let Some(bulk) = plan.bulk_mut().filter(|_| parameters.rate_bps == 0) {
                // Where this end sends, it keeps the limit itself.
                bulk.rate = Rate::Limit(BitRate::from_bps((max_bps / streams).max(1000)));
            }
        }
        Ok(())
    }

    /// The maximum rate of all streams together, bit/s, and the time over which it is averaged.
    pub(super) fn rate_limit(&self) -> Option<(u64, Duration)> {
        let options = &self.state.options;
        let general = options.max_rate.map(|max_rate| (max_rate, RATE_WINDOW));
        match (options.iperf3.rate_limit, general) {
            (Some(own), Some(general)) => Some(if own.0 <= general.0 { own } else { general }),
            (own, general) => own.or(general),
        }
    }

    /// Checks what was received while nothing is due.
    pub(super) fn check_input(&mut self, input: ControlInput) -> Result<(), SessionError> {
        match input {
            ControlInput::Nothing if self.state.is_stopping() => {
                let _ = self.control.send(&[ControlState::ServerTerminate]);
                Err(SessionError::Left)
            }
            ControlInput::Nothing => Ok(()),
            ControlInput::Closed
            | ControlInput::State(ControlState::ClientTerminate | ControlState::IperfDone) => {
                Err(SessionError::Left)
            }
            ControlInput::State(_) | ControlInput::Unknown(_) => {
                Err(Iperf3ErrorCode::MESSAGE.into())
            }
        }
    }

    /// Closes the control connection.
    fn close(self) {
        let Self {
            state,
            control,
            entry,
            number,
            view,
            is_connected,
        } = self;
        drop(entry);
        let peer = control.peer();
        control.close();
        drop(view);
        if is_connected {
            state.send_event(number, Protocol::Iperf3, peer, SessionEventKind::Left);
        }
    }
}
