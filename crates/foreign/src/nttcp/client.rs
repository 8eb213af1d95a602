//! A transfer with a server of nttcp, as its client: asks, does its own part, and reads the other end's row.

use super::control::read_line;
use super::data_socket::{DATA_TIMEOUT, DataDialogue, default_settings};
use super::error::NttcpError;
use super::peer_report::{own_totals, peer_totals};
use super::transfer::{Transfer, TransferLimits, TransferSettings, Transferred, client_flow};
use caudal_core::event::{EndReport, Event, FlowTotals, PeerOutput, ReportingEnd};
use caudal_core::sample::{FlowEnd, Role};
use caudal_core::units::BitRate;
use caudal_flow::socket::{SocketSettings, canonical, connect, data_connection};
use caudal_flow::{LocalBinding, RunError, UserInterrupt};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::signal::Interrupt;
use caudal_wire::nttcp::{MAX_LINE_BYTES, PORT, TransferRequest};
use std::cell::RefCell;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The time the other end may take for its row, as in the original.
const ROW_TIMEOUT: Duration = Duration::from_secs(10);
/// The time without a byte after which a transfer is given up.
const IDLE_TIMEOUT: Duration = Duration::from_secs(80);
/// The mark before the row of this end.
const OWN_MARK: char = 'l';
/// Maximum number of the other end's lines that are read.
const MAX_LINES: usize = 1000;

/// The measurements of a transfer.
#[derive(Debug, Clone)]
pub struct NttcpOutcome {
    /// The lines of the other end.
    pub remote: Vec<String>,
    /// The totals of the other end, where its row has a number of bytes.
    pub peer: Option<FlowTotals>,
    /// The final report of this end.
    pub end: FlowEnd,
    /// The time it took to connect.
    pub connect_time: Duration,
    /// `true` when it was stopped from here.
    pub is_stopped: bool,
}

/// A client of nttcp.
pub struct NttcpClient {
    peer: SocketAddr,
    binding: LocalBinding,
    interrupt: UserInterrupt,
}

/// The settings of a transfer beyond its request.
pub(super) struct ClientSettings<'a> {
    pub(super) transfer: TransferSettings<'a>,
    pub(super) sockets: SocketSettings,
    /// The rate to send at, bit/s.
    pub(super) rate: Option<u64>,
    /// The maximum duration.
    pub(super) max_time: Option<Duration>,
}

impl NttcpClient {
    /// A client of the server at `peer`.
    #[must_use]
    pub const fn new(
        peer: SocketAddr,
        binding: LocalBinding,
        interrupt: Option<&'static Interrupt>,
    ) -> Self {
        Self {
            peer,
            binding,
            interrupt: UserInterrupt(interrupt),
        }
    }

    /// Carries out one transfer; `more` are options for the other end alone.
    ///
    /// # Errors
    /// When the server cannot be reached, or breaks the protocol.
    pub fn run(
        &self,
        request: &TransferRequest,
        more: &[String],
        events: &mut dyn FnMut(Event),
    ) -> Result<NttcpOutcome, RunError> {
        let settings = ClientSettings {
            transfer: TransferSettings::default(),
            sockets: default_settings(request),
            rate: None,
            max_time: None,
        };
        self.run_with(request, more, &settings, events)
    }

    pub(super) fn run_with(
        &self,
        request: &TransferRequest,
        more: &[String],
        settings: &ClientSettings<'_>,
        events: &mut dyn FnMut(Event),
    ) -> Result<NttcpOutcome, RunError> {
        let began_ns = monotonic_ns();
        let control = connect(self.peer, &self.binding, None)?;
        let connect_time = Duration::from_nanos(monotonic_ns() - began_ns);
        ask(&control, request, more)?;
        let (transferred, mut remote) = self.transfer(&control, request, settings, events)?;
        events(Event::Ending);
        remote.extend(self.read_lines(&control));
        let peer = peer_totals(request, more, &transferred.row, &remote);
        events(Event::Reported(EndReport {
            end: ReportingEnd::Local,
            flows: vec![own_totals(request, more, &transferred.row, peer.as_ref())],
            cpu: None,
            congestion: None,
            output: Some(PeerOutput::Text(
                transferred.row.show(OWN_MARK, &request.format).into(),
            )),
        }));
        if !remote.is_empty() {
            events(Event::Reported(EndReport {
                end: ReportingEnd::Peer,
                flows: peer.into_iter().collect(),
                cpu: None,
                congestion: None,
                output: Some(PeerOutput::Text(remote.join("\n").into())),
            }));
        }
        Ok(NttcpOutcome {
            remote,
            peer,
            is_stopped: transferred.reason == Some(caudal_engine::server::StopReason::Stopped),
            end: transferred.end,
            connect_time,
        })
    }

    /// Carries the transfer out; also the lines of the other end before it.
    fn transfer(
        &self,
        control: &TcpStream,
        request: &TransferRequest,
        settings: &ClientSettings<'_>,
        events: &mut dyn FnMut(Event),
    ) -> Result<(Transferred, Vec<String>), NttcpError> {
        let limits = TransferLimits {
            idle_timeout: IDLE_TIMEOUT,
            max_time: settings.max_time,
            max_rate: settings.rate.map(BitRate::from_bps),
            server: None,
            activity: None,
            stop: self.interrupt.fds(),
        };
        let dialogue = DataDialogue {
            control,
            local: canonical(control.local_addr()?).ip(),
            peer: self.peer.ip().to_canonical(),
            request,
            limits: &limits,
            notes: RefCell::default(),
        };
        let socket = if request.transmit {
            dialogue.connect(DATA_TIMEOUT, &settings.sockets)?
        } else {
            dialogue.accept(PORT + 1)?
        };
        let flow = client_flow(request);
        let role = if request.transmit {
            Role::Sender
        } else {
            Role::Receiver
        };
        let connection = data_connection(flow, 1, role, &socket, self.peer);
        events(Event::Opened(connection));
        let transfer = Transfer {
            request,
            limits: &limits,
            settings: &settings.transfer,
            peer: dialogue.peer,
        };
        let transferred = transfer.run(flow, socket, events)?;
        Ok((transferred, dialogue.notes.take()))
    }

    /// The lines of the other end.
    fn read_lines(&self, control: &TcpStream) -> Vec<String> {
        let mut lines = Vec::new();
        while lines.len() < MAX_LINES
            && let Ok(Some(line)) = read_line(control, ROW_TIMEOUT, &self.interrupt.fds())
        {
            lines.push(line);
        }
        lines
    }
}

/// Asks for the other end's part of a transfer.
fn ask(
    mut control: &TcpStream,
    request: &TransferRequest,
    more: &[String],
) -> Result<(), RunError> {
    let lost = |cause| RunError::Lost {
        doing: "asking for a test",
        cause,
    };
    let line = request.encode(1, more).ok_or_else(|| {
        RunError::Protocol(format!(
            "the options cannot be sent to the other side: no @, and {MAX_LINE_BYTES} bytes at most"
        ).into())
    })?;
    control.set_nodelay(true).map_err(lost)?;
    control.write_all(line.as_bytes()).map_err(lost)
}
