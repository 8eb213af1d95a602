//! A session over UDP.

use super::connect_back::BackTransport;
use super::cut_off::CutOff;
use super::datagram_format::Iperf2Format;
use super::datagram_reader::{EndReply, Iperf2Reader};
use super::datagram_sender::{EndAnnouncement, Iperf2DatagramSender};
use super::server_state::{Iperf2State, UDP_RATE};
use super::session::Iperf2ServerSession;
use crate::error::RunError;
use crate::flow::{DatagramLimit, DatagramReceiver, FlowSet, FlowWork};
use crate::socket::DataSocket;
use crate::watch::StopReason;
use caudal_core::plan::{MAX_DATAGRAM, PlannedFlow, Transport};
use caudal_core::sample::{Counters, FlowEnd, Role};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::iperf2::{FirstDatagram, HeaderLayout, TestMode};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The time a flow may make no progress whose address is not proven: it may be forged.
const UNPROVEN_IDLE: Duration = Duration::from_secs(15);
/// The number above which that of a first datagram belongs to a flow that began before.
const MAX_FIRST: i64 = 1000;

/// A client that has sent its first datagram.
pub(super) struct FirstContact {
    /// The socket of its flow.
    pub(super) socket: UdpSocket,
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
pub(super) fn serve(state: &Iperf2State, contact: FirstContact) -> Result<(), String> {
    let FirstContact {
        socket,
        local,
        peer,
        first,
        strays,
        session: _alive,
        cut_off,
    } = contact;
    let mut session = Iperf2ServerSession::new(state, first.header, Transport::Udp, local, peer);
    session.test.no_udp_fin = matches!(session.test.mode, TestMode::Reverse | TestMode::FullDuplex)
        || session
            .extension()
            .is_some_and(|extended| extended.no_udp_fin);
    let is_proven = state.is_proven(peer);
    if session.test.mode == TestMode::Reverse && !is_proven {
        return Err(
            "it asks for UDP in reverse, and its address is not proven: let it run a TCP test first, or start \
             the server so that it trusts its network"
                .to_owned(),
        );
    }
    session.begin();
    let test = UdpTest {
        session,
        socket: Arc::new(DataSocket::Udp(socket)),
        first,
        is_group: local.ip().is_multicast(),
        is_proven,
        cut_off,
    };
    test.run(strays)
}

/// The test of a session over UDP.
struct UdpTest<'a> {
    session: Iperf2ServerSession<'a>,
    socket: Arc<DataSocket>,
    first: FirstDatagram,
    /// `true` for a multicast group.
    is_group: bool,
    /// `true` when the client has proved to receive what is sent to it.
    is_proven: bool,
    cut_off: CutOff,
}

impl UdpTest<'_> {
    fn run(mut self, strays: Receiver<(Vec<u8>, u64)>) -> Result<(), String> {
        let state = self.session.state;
        let mode = self.session.test.mode;
        let (time, _) = self.session.end();
        let mut strays = Some(strays);
        let set = self.flows(&mut strays).map_err(|error| error.to_string())?;
        let mut idle_timeout = state.options.idle_timeout;
        if !self.is_proven {
            idle_timeout = idle_timeout.min(UNPROVEN_IDLE);
        }
        let send_time = time.filter(|_| mode != TestMode::Up);
        let outcome = self.session.run(set, send_time, idle_timeout);
        if matches!(outcome.reason, Some(StopReason::Limit(_))) {
            self.cut_off.set(monotonic_ns());
        }
        let mut failure = outcome.failure;
        if mode == TestMode::Tradeoff && failure.is_none() && !state.is_stopping() {
            failure = self.run_back(&outcome.ends, time)?;
        }
        match failure {
            Some(failure) if !state.is_stopping() => Err(failure),
            _ => Ok(()),
        }
    }

    /// Connects back after the client's part of the test, which has ended like this: the failure of that.
    fn run_back(
        &mut self,
        ends: &[FlowEnd],
        time: Option<Duration>,
    ) -> Result<Option<String>, String> {
        let received = ends.iter().map(|end| match end.counters {
            Counters::Receiver(received) => received.bytes,
            Counters::Sender(_) => 0,
        });
        let limit = if self.is_proven {
            DatagramLimit::Unlimited
        } else {
            DatagramLimit::Bytes(received.sum())
        };
        let mut set = self.session.new_set().map_err(|error| error.to_string())?;
        let back = BackTransport::Udp(self.first.layout, limit);
        if !self.session.connect_back(&mut set, back) {
            return Ok(None);
        }
        let idle_timeout = self.session.state.options.idle_timeout;
        Ok(self.session.run(set, time, idle_timeout).failure)
    }

    /// The flows of the test.
    fn flows(
        &mut self,
        strays: &mut Option<Receiver<(Vec<u8>, u64)>>,
    ) -> Result<FlowSet, RunError> {
        let mode = self.session.test.mode;
        let mut set = self.session.new_set()?;
        // An address that is not proven is sent no more than arrived from it.
        let mut limit = match self.is_proven {
            true => DatagramLimit::Unlimited,
            false => DatagramLimit::Bytes(0),
        };
        if mode != TestMode::Reverse {
            let mut reader = self.reader();
            reader.strays = strays.take();
            let flow = self.session.next_flow(Role::Receiver);
            self.add(&mut set, flow, DatagramReceiver::new(reader).into_task())?;
            if let (false, Some(counters)) = (self.is_proven, set.last_counters()) {
                limit = DatagramLimit::ReceivedBy(counters);
            }
        }
        if matches!(mode, TestMode::Reverse | TestMode::FullDuplex) {
            let flow = self.session.next_flow(Role::Sender);
            let task = self.sender(flow, limit.clone());
            self.add(&mut set, flow, task)?;
        }
        if mode == TestMode::Dual {
            let back = BackTransport::Udp(self.first.layout, limit);
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
        // Numbers that begin elsewhere belong to a flow that was there before.
        let number = match first.datagram.id {
            number if number > MAX_FIRST => number,
            number => i64::from(first.layout != HeaderLayout::Twelve).min(number),
        };
        let mut reader = Iperf2Reader::new(first.layout, first.wide, number);
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
