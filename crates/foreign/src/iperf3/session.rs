//! The session of a client of iperf3: its control connection, and the events it sends to the log and to its view.

use super::control::{ControlInput, Iperf3Control};
use super::registration::RegisteredTest;
use super::server_options::Iperf3Session;
use super::server_state::Iperf3ServerState;
use super::session_error::SessionError;
use caudal_core::event::Event;
use caudal_core::units::BitRate;
use caudal_engine::ClientRefusal;
use caudal_engine::server::{SessionEventKind, SessionView, SharedPortClient};
use caudal_wire::iperf3::{ControlState, Iperf3ErrorCode, Parameters};

/// The time a client may take for each step, ns.
pub(super) const STEP_NS: u64 = 10_000_000_000;

/// A client's session.
pub(super) struct ServerSession<'a> {
    pub(super) state: &'a Iperf3ServerState,
    pub(super) client: &'a SharedPortClient<'a>,
    pub(super) control: Iperf3Control,
    pub(super) entry: RegisteredTest<'a>,
    pub(super) view: Option<Box<dyn SessionView>>,
    /// `true` once its client was admitted.
    is_connected: bool,
}

impl<'a> ServerSession<'a> {
    /// A session whose client has not been admitted yet.
    pub(super) const fn new(
        state: &'a Iperf3ServerState,
        client: &'a SharedPortClient<'a>,
        control: Iperf3Control,
        entry: RegisteredTest<'a>,
    ) -> Self {
        Self {
            state,
            client,
            control,
            entry,
            view: None,
            is_connected: false,
        }
    }

    /// Shows that the client was admitted, and makes the view of its test.
    pub(super) fn connected(&mut self, parameters: &Parameters) {
        self.is_connected = true;
        self.send_kind(SessionEventKind::Connected {
            tool: match &parameters.client_version {
                Some(version) => format!("iperf3 {version}").into(),
                None => "iperf3".into(),
            },
        });
        let views = self.state.options.views.as_ref();
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

    pub(super) fn send_to_log(&self, event: Event) {
        self.send_kind(SessionEventKind::Event(Box::new(event)));
    }

    fn send_kind(&self, kind: SessionEventKind) {
        self.client.send_event(kind);
    }

    /// Shows that the client was refused.
    pub(super) fn send_refused(&mut self, refusal: ClientRefusal) {
        let peer = self.control.peer();
        if let Some(view) = &mut self.view {
            view.event(&Event::Refused {
                peer: Some(peer),
                reason: refusal.message.clone(),
            });
        }
        if self.is_connected {
            self.send_kind(SessionEventKind::Refused(refusal));
        } else {
            self.client.send_refused(refusal);
        }
    }

    /// The maximum rate of all streams together, bit/s.
    pub(super) fn max_rate(&self) -> Option<u64> {
        let own = self.state.options.rate_limit.map(|(max_bps, _)| max_bps);
        let general = self.client.limits().max_rate.map(BitRate::bps);
        own.into_iter().chain(general).min()
    }

    /// Checks what was received while nothing is due.
    pub(super) fn check_input(&mut self, input: ControlInput) -> Result<(), SessionError> {
        match input {
            ControlInput::Nothing if self.client.is_stopping() => {
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
    pub(super) fn close(self) {
        let Self {
            client,
            control,
            entry,
            view,
            is_connected,
            ..
        } = self;
        drop(entry);
        control.close();
        drop(view);
        if is_connected {
            client.send_event(SessionEventKind::Left);
        }
    }
}
