//! A session of a client of nttcp: the transfer its line asks for, answered with this end's row.

use super::control::read_line;
use super::data_socket::{DATA_TIMEOUT, DataDialogue, default_settings};
use super::error::NttcpError;
use super::server_state::NttcpState;
use super::transfer::{Transfer, TransferLimits, TransferSettings};
use caudal_core::event::{Agreement, EndedTest, Event};
use caudal_core::plan::{
    BulkPlanRecord, Direction, Directions, PlanRecord, PlannedFlow, TestEnd, Transport,
};
use caudal_core::sample::Role;
use caudal_core::units::ByteCount;
use caudal_engine::ClientRefusal;
use caudal_engine::admission::{ClientSlot, Place};
use caudal_engine::server::SessionEventKind;
use caudal_flow::LimitReached;
use caudal_flow::socket::{DataSocket, canonical, data_connection};
use caudal_wire::nttcp::{ResultRow, TransferRequest};
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// The time a client may take to send its line.
const LINE_TIMEOUT: Duration = Duration::from_secs(10);
/// The time a client may take to close after its answer.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

/// Serves one client.
pub(super) fn serve(state: &NttcpState, mut control: TcpStream, peer: SocketAddr, pending: Place) {
    let _ = control.set_nonblocking(false);
    let _ = control.set_nodelay(true);
    let line = read_line(&control, LINE_TIMEOUT, &[state.stop.fd()]);
    drop(pending);
    let answer = match line {
        Ok(None) => return,
        Ok(Some(line)) => answer(state, &control, peer, &line),
        Err(error) => Err(ClientRefusal::protocol(error)),
    };
    let answer = answer.unwrap_or_else(|refusal| {
        state.send_refused(peer, refusal.clone());
        format!("nttcp-1: {}", refusal.message.as_received())
    });
    let _ = control.write_all((answer + "\n").as_bytes());
    let _ = control.shutdown(Shutdown::Write);
    let _ = control.set_read_timeout(Some(CLOSE_TIMEOUT));
    let _ = control.read(&mut [0; 256]);
}

/// Does what a line asks for: the row of this end.
fn answer(
    state: &NttcpState,
    control: &TcpStream,
    peer: SocketAddr,
    line: &str,
) -> Result<String, ClientRefusal> {
    let slot = state.admission.admit_patiently(peer.ip(), control)?;
    let session = NttcpSession {
        state,
        control,
        peer,
        number: state.next_session(),
        slot: &slot,
    };
    let row = session.run(line).map_err(ClientRefusal::from);
    session.send_kind(SessionEventKind::Left);
    match slot.given_up() {
        Some(reason) => Err(ClientRefusal::given_up(reason)),
        None => row,
    }
}

/// A session of a client.
struct NttcpSession<'a> {
    state: &'a NttcpState,
    control: &'a TcpStream,
    peer: SocketAddr,
    number: u64,
    slot: &'a ClientSlot,
}

impl NttcpSession<'_> {
    fn run(&self, line: &str) -> Result<String, NttcpError> {
        let request = TransferRequest::decode(line)?;
        if request.listen || request.version || request.help {
            return Err(NttcpError::NoTransfer);
        }
        if let Some(max) = self.state.options.limits.max_bytes
            && request.bytes() > max.get()
        {
            return Err(NttcpError::Limit(LimitReached::Bytes(max)));
        }
        let tool = "nttcp".to_owned();
        self.send_kind(SessionEventKind::Connected { tool: tool.into() });
        self.send_event(Event::Agreed(Agreement {
            repeat: None,
            plan: plan_record(&request, self.peer),
            changed: Vec::new(),
        }));
        let row = self.transfer(&request)?;
        let (received_bytes, sent_bytes) = if request.transmit {
            (0, row.bytes)
        } else {
            (row.bytes, 0)
        };
        self.send_event(Event::Ended(EndedTest {
            received_bytes,
            sent_bytes,
            elapsed_s: row.real_s,
            ..EndedTest::default()
        }));
        let number = u32::from(request.number.unwrap_or(1));
        let mark = char::from_digit(number, 10).unwrap_or('1');
        let row = row.show(mark, &request.format);
        Ok(match request.verbose {
            // A verbose client waits for this line and the empty one.
            true => format!("{row}\nnttcp-{mark}: exiting\n"),
            false => row,
        })
    }

    fn transfer(&self, request: &TransferRequest) -> Result<ResultRow, NttcpError> {
        let options = &self.state.options;
        let of_client = options.limits.of_client(self.peer.ip());
        let limits = TransferLimits {
            idle_timeout: options.idle_timeout,
            max_time: None,
            max_rate: options.limits.max_rate,
            server: Some(&of_client),
            activity: Some(self.slot.activity()),
            stop: vec![self.state.stop.fd()],
        };
        let dialogue = DataDialogue {
            control: self.control,
            local: canonical(self.control.local_addr()?).ip(),
            peer: self.peer.ip(),
            request,
            limits: &limits,
            notes: RefCell::default(),
        };
        let socket = if request.transmit {
            let patience = DATA_TIMEOUT.min(options.idle_timeout);
            dialogue.connect(patience, &default_settings(request))?
        } else {
            dialogue.accept(self.state.port.saturating_add(1))?
        };
        self.slot.test_begins();
        let flow = self.opened(request, &socket);
        let mut limits = limits.clone();
        if request.udp && request.transmit {
            // The control connection is the proof of the address: without it nothing more is sent there.
            limits.stop.push(self.control.as_fd());
        }
        let transfer = Transfer {
            request,
            limits: &limits,
            settings: &TransferSettings::default(),
            peer: dialogue.peer,
        };
        let transferred = transfer.run(flow, socket, &mut |event| self.send_event(event))?;
        Ok(transferred.row)
    }

    /// Shows the data connection: its flow.
    fn opened(&self, request: &TransferRequest, socket: &DataSocket) -> PlannedFlow {
        let (role, direction) = if request.transmit {
            (Role::Sender, Direction::Down)
        } else {
            (Role::Receiver, Direction::Up)
        };
        let flow = PlannedFlow { id: 0, direction };
        let connection = data_connection(flow, 1, role, socket, self.peer);
        self.send_event(Event::Opened(connection));
        flow
    }

    fn send_event(&self, event: Event) {
        self.send_kind(SessionEventKind::Event(Box::new(event)));
    }

    fn send_kind(&self, kind: SessionEventKind) {
        self.state.send_event(self.number, self.peer, kind);
    }
}

/// The plan of a client's request.
fn plan_record(request: &TransferRequest, peer: SocketAddr) -> PlanRecord {
    let transport = if request.udp {
        Transport::Udp
    } else {
        Transport::Tcp
    };
    let keys = BulkPlanRecord {
        peer: Some(peer.to_string().into()),
        directions: Some(if request.transmit {
            Directions::Down
        } else {
            Directions::Up
        }),
        parallel: Some(1),
        end: Some(TestEnd::Bytes(ByteCount::new(request.bytes()))),
        length: Some(u64::from(request.length)),
        ..BulkPlanRecord::default()
    };
    PlanRecord::bulk_transfer(Some(transport), keys)
}
