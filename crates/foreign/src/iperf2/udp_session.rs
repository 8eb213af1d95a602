//! A session over UDP.

use super::connect_back::BackTransport;
use super::cut_off::CutOff;
use super::datagram_format::Iperf2Format;
use super::datagram_reader::{EndReply, Iperf2Reader};
use super::datagram_sender::{EndAnnouncement, Iperf2DatagramSender};
use super::server_state::{Iperf2State, UDP_RATE};
use super::session::Iperf2ServerSession;
use caudal_core::plan::{MAX_DATAGRAM, PlannedFlow, Transport};
use caudal_core::sample::Role;
use caudal_engine::ClientRefusal;
use caudal_engine::admission::ClientSlot;
use caudal_engine::server::StopReason;
use caudal_flow::socket::DataSocket;
use caudal_flow::{
    AddressProof, AntiAmplificationLimit, DatagramLimit, DatagramReceiver, FlowSet, FlowWork,
    RunError,
};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::iperf2::{FirstDatagram, HeaderLayout, ServerAck, TestMode, VERSION};
use caudal_wire::message::Refusal;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The time a flow may make no progress whose address is not validated: it may be forged.
const UNVALIDATED_IDLE: Duration = Duration::from_secs(15);
/// The same after its first datagram alone, while many places are taken, and the part of them that are many: one of so many.
const SINGLE_DATAGRAM_IDLE: Duration = Duration::from_secs(1);
const MANY: usize = 4;
/// The time for which this end sends where the client has named neither a time nor an amount: that of iperf 2 itself.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// Maximum time for which this end sends to an address that only a handshake has validated: its client may have left.
const MAX_HANDSHAKE_TIME: Duration = Duration::from_secs(60);
/// Maximum number of a first datagram; a larger one belongs to a flow that began before.
const MAX_FIRST: i64 = 1000;

/// A client that has sent its first datagram.
pub(super) struct FirstContact {
    /// The socket of its flow.
    pub(super) socket: UdpSocket,
    /// The limit on what is sent to the client while its address is not validated.
    pub(super) limit: Arc<AntiAmplificationLimit>,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) first: FirstDatagram,
    /// The datagrams that arrive at the listening socket, with their times of arrival.
    pub(super) strays: Receiver<(Vec<u8>, u64)>,
    /// Held as long as the session.
    pub(super) session: Arc<()>,
    /// Set when a limit of the server ends the test.
    pub(super) cut_off: CutOff,
}

/// Serves a client over UDP.
///
/// # Errors
/// The reason why its test was refused or ended early.
pub(super) fn serve(
    state: &Iperf2State,
    contact: FirstContact,
    slot: &ClientSlot,
) -> Result<(), ClientRefusal> {
    let FirstContact {
        socket,
        limit,
        local,
        peer,
        first,
        strays,
        session: _alive,
        cut_off,
    } = contact;
    let mut session =
        Iperf2ServerSession::new(state, slot, first.header, Transport::Udp, local, peer);
    session.test.no_udp_fin = matches!(session.test.mode, TestMode::Reverse | TestMode::FullDuplex)
        || session
            .extension()
            .is_some_and(|extended| extended.no_udp_fin);
    let proof = match session.test.mode {
        TestMode::Up => state.standing_proof(peer.ip()),
        _ => state.proof(peer.ip()),
    };
    if session.test.mode == TestMode::Reverse && proof.is_none() {
        let message = "it asks for UDP in reverse, and its address is not validated: let it run a TCP test at most 10 s \
                       before each such flow, or start the server so that it trusts its network";
        return Err(ClientRefusal::new(Refusal::Denied, message));
    }
    session.begin();
    if first
        .header
        .is_some_and(|header| header.is_answered_over_udp())
        && !local.ip().is_multicast()
    {
        acknowledge(&socket, &limit);
    }
    let test = UdpTest {
        session,
        socket: Arc::new(DataSocket::Udp(socket)),
        first,
        is_group: local.ip().is_multicast(),
        limit,
        proof,
        cut_off,
    };
    test.run(strays)
}

/// Answers the datagram that opens a flow of 2.0.10 to 2.0.13: its client waits for that before it sends.
fn acknowledge(socket: &UdpSocket, limit: &AntiAmplificationLimit) {
    let ack = ServerAck {
        version: VERSION,
        times: None,
    };
    let ack = ack.encode();
    if limit.claim(ack.len() as u64) {
        // A client without it goes on all the same.
        let _ = socket.send(&ack);
    }
}

/// The test of a session over UDP.
struct UdpTest<'a> {
    session: Iperf2ServerSession<'a>,
    socket: Arc<DataSocket>,
    first: FirstDatagram,
    /// `true` for a multicast group.
    is_group: bool,
    /// The limit on what is sent to the client while its address is not validated; its report stays within it always.
    limit: Arc<AntiAmplificationLimit>,
    /// The reason why its address and port count as validated.
    proof: Option<AddressProof>,
    cut_off: CutOff,
}

impl UdpTest<'_> {
    fn run(mut self, strays: Receiver<(Vec<u8>, u64)>) -> Result<(), ClientRefusal> {
        let state = self.session.state;
        let mode = self.session.test.mode;
        let time = self.send_time();
        let mut strays = Some(strays);
        let set = self.flows(&mut strays)?;
        let mut idle_timeout = state.options.idle_timeout;
        if self.proof.is_none() {
            idle_timeout = idle_timeout.min(UNVALIDATED_IDLE);
            let is_crowded = state.admission.in_use() * MANY >= state.admission.capacity();
            self.session.first_timeout = is_crowded.then_some(SINGLE_DATAGRAM_IDLE);
        }
        let send_time = time.filter(|_| mode != TestMode::Up);
        let outcome = self.session.run(set, send_time, idle_timeout);
        if matches!(outcome.reason, Some(StopReason::Limit(_))) {
            self.cut_off.set(monotonic_ns());
        }
        self.limit.set_final();
        let mut failure = outcome.failure;
        if mode == TestMode::Tradeoff && failure.is_none() && !state.is_stopping() {
            failure = self.run_back(time)?;
        }
        match failure {
            Some(failure) if !state.is_stopping() => Err(failure),
            _ => Ok(()),
        }
    }

    /// The time for which this end sends: it always ends by itself.
    fn send_time(&self) -> Option<Duration> {
        let time = match self.session.end() {
            (None, None) => Some(DEFAULT_TIME),
            (time, _) => time,
        };
        match self.proof {
            Some(AddressProof::Handshake) => {
                Some(time.map_or(MAX_HANDSHAKE_TIME, |time| time.min(MAX_HANDSHAKE_TIME)))
            }
            _ => time,
        }
    }

    /// Connects back after the client's part of the test: the failure of that.
    fn run_back(&mut self, time: Option<Duration>) -> Result<Option<ClientRefusal>, ClientRefusal> {
        let mut set = self.session.new_set()?;
        let back = BackTransport::Udp(self.first.layout, self.back_limit());
        if !self.session.connect_back(&mut set, back) {
            return Ok(None);
        }
        let idle_timeout = self.session.state.options.idle_timeout;
        Ok(self.session.run(set, time, idle_timeout).failure)
    }

    /// The limit on what is sent to the port from which the client sends.
    fn flow_limit(&self) -> DatagramLimit {
        match self.proof {
            Some(_) => DatagramLimit::Unlimited,
            None => DatagramLimit::AntiAmplification(Arc::clone(&self.limit)),
        }
    }

    /// The limit on what is sent to the port that the client names. On this machine another program may own that port.
    fn back_limit(&self) -> DatagramLimit {
        match self.proof {
            Some(AddressProof::OwnMachine) | None => {
                DatagramLimit::AntiAmplification(Arc::clone(&self.limit))
            }
            Some(_) => DatagramLimit::Unlimited,
        }
    }

    /// The flows of the test.
    fn flows(
        &mut self,
        strays: &mut Option<Receiver<(Vec<u8>, u64)>>,
    ) -> Result<FlowSet, RunError> {
        let mode = self.session.test.mode;
        let mut set = self.session.new_set()?;
        if mode != TestMode::Reverse {
            let mut reader = self.reader();
            reader.strays = strays.take();
            let flow = self.session.next_flow(Role::Receiver);
            reader.histogram = self.session.histogram(flow.id);
            self.add(&mut set, flow, DatagramReceiver::new(reader).into_task())?;
        }
        if matches!(mode, TestMode::Reverse | TestMode::FullDuplex) {
            let flow = self.session.next_flow(Role::Sender);
            let task = self.sender(flow, self.flow_limit());
            self.add(&mut set, flow, task)?;
        }
        if mode == TestMode::Dual {
            let back = BackTransport::Udp(self.first.layout, self.back_limit());
            self.session.connect_back(&mut set, back);
        }
        Ok(set)
    }

    fn add(
        &mut self,
        set: &mut FlowSet,
        flow: PlannedFlow,
        task: FlowWork,
    ) -> Result<(), RunError> {
        let number = self.session.test.number;
        self.session.add_flow(set, flow, number, &self.socket, task)
    }

    fn reader(&self) -> Iperf2Reader {
        let (first, test) = (&self.first, &self.session.test);
        let is_of_2_0 = first
            .header
            .is_some_and(|header| header.is_answered_over_udp());
        // Numbers that begin elsewhere belong to a flow that was there before.
        let number = match first.datagram.id {
            number if number > MAX_FIRST => number,
            // 2.0.13 numbers what follows its opening datagram from 0 where it is connected back to.
            _ if first.is_opening() => i64::from(!is_of_2_0 || test.mode == TestMode::Up),
            number => i64::from(first.layout != HeaderLayout::Twelve).min(number),
        };
        let mut reader = Iperf2Reader::new(first.layout, first.wide, number);
        reader.limit = Arc::clone(&self.limit);
        reader.source = Some(self.session.test.peer);
        if !test.no_udp_fin && !self.is_group {
            reader.reply = EndReply::Report {
                with_transit: test.trip_times || self.session.state.options.count_reads,
            };
        }
        reader
    }

    fn sender(&self, flow: PlannedFlow, limit: DatagramLimit) -> FlowWork {
        let session = &self.session;
        let rate = match session.extension() {
            Some(_) => session.requested_rate(),
            None => Some(UDP_RATE),
        };
        let length = match session.header.map_or(0, |header| header.length) {
            0 if session.test.peer.is_ipv6() => 1450,
            0 => 1470,
            length => length.min(MAX_DATAGRAM),
        };
        let (_, bytes) = session.end();
        let format = Iperf2Format::new(self.first.layout, 1, Vec::new());
        let rate = session.state.limited_rate(rate);
        Iperf2DatagramSender::new(flow.id, format, length, rate, bytes, EndAnnouncement::Once)
            .with_limit(limit)
            .into_task()
    }
}
