//! Connecting back: to the client's own address, at the port on which it listens.

use super::datagram_format::Iperf2Format;
use super::datagram_sender::{EndAnnouncement, FlowOpening, Iperf2DatagramSender};
use super::server_state::{MAX_BLOCK, TCP_LENGTH, UDP_RATE};
use super::session::Iperf2ServerSession;
use super::tcp::{CLOSE_TIMEOUT, pattern_payload, tcp_sender};
use caudal_core::event::{ConnectingSocket, Event};
use caudal_core::plan::MAX_DATAGRAM;
use caudal_core::sample::Role;
use caudal_engine::ClientRefusal;
use caudal_flow::socket::{DataSocket, connect};
use caudal_flow::{DatagramLimit, FlowSet, FlowWork, LocalBinding, RunError, TcpClose};
use caudal_sys::buffers;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::iperf2::{ExtensionLayout, HeaderLayout, TestHeader};
use caudal_wire::message::Refusal;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The transport over which a server connects back.
pub(super) enum BackTransport {
    Tcp,
    /// Datagrams of this layout.
    Udp(HeaderLayout, DatagramLimit),
}

/// The time a client may take to listen, which it begins to beside its own sending, ns.
const LISTEN_NS: u64 = 500_000_000;
/// The time between attempts.
const RETRY: Duration = Duration::from_millis(50);
/// The ports below belong to a host's services: no client listens there.
const MIN_PORT: u16 = 1024;

/// Connects to a client that may be about to listen.
fn connect_patiently(peer: SocketAddr, binding: &LocalBinding) -> Result<TcpStream, RunError> {
    let until_ns = monotonic_ns() + LISTEN_NS;
    loop {
        match connect(peer, binding, None) {
            Err(RunError::Connect { cause, .. })
                if cause.kind() == io::ErrorKind::ConnectionRefused
                    && monotonic_ns() < until_ns =>
            {
                thread::sleep(RETRY);
            }
            result => return result,
        }
    }
}

impl Iperf2ServerSession<'_> {
    /// Connects to the client and adds the flow in which this end sends to it; `false` when that is not possible, which is
    /// shown.
    pub(super) fn connect_back(&mut self, set: &mut FlowSet, transport: BackTransport) -> bool {
        let Some(header) = self.header else {
            return false;
        };
        let client = self.test.peer;
        if !self.state.options.connect_back {
            let message = "it asks to be connected to, which this server does not do";
            self.send_refused(client, ClientRefusal::new(Refusal::Feature, message));
            return false;
        }
        let port = u16::try_from(header.port).ok();
        let Some(port) = port.filter(|port| *port >= MIN_PORT) else {
            let reason = format!("it asks to be connected to at port {}", header.port);
            self.send_refused(client, ClientRefusal::new(Refusal::Plan, reason));
            return false;
        };
        let peer = SocketAddr::new(client.ip(), port);
        let added = match transport {
            BackTransport::Tcp => self.add_tcp(set, &header, peer),
            BackTransport::Udp(layout, limit) => self.add_udp(set, &header, peer, layout, limit),
        };
        match added {
            Ok(()) => true,
            Err(reason) => {
                self.send_refused(peer, ClientRefusal::new(Refusal::Other, reason));
                false
            }
        }
    }

    /// The local address from which a client is connected to: that to which it connected.
    fn back_binding(&self) -> LocalBinding {
        let address = self.local.ip();
        LocalBinding {
            address: Some(address)
                .filter(|address| !address.is_unspecified() && !address.is_multicast()),
            ..LocalBinding::default()
        }
    }

    fn add_tcp(
        &mut self,
        set: &mut FlowSet,
        header: &TestHeader,
        peer: SocketAddr,
    ) -> Result<(), String> {
        let length = match header.length.min(MAX_BLOCK) {
            0 => TCP_LENGTH,
            length => length,
        };
        let rate = self.state.limited_rate(self.requested_rate());
        let stream = connect_patiently(peer, &self.back_binding())
            .map_err(|error| format!("cannot connect back: {error}"))?;
        let (_, bytes) = self.end();
        let length_usize = length as usize;
        let sender = tcp_sender(
            pattern_payload(length_usize, false),
            length_usize,
            rate,
            bytes,
            TcpClose::AwaitClose(Some(CLOSE_TIMEOUT)),
        );
        self.add_back(
            set,
            peer,
            DataSocket::Tcp(stream),
            (length, rate),
            |_, _| sender.into_task(),
        )
    }

    fn add_udp(
        &mut self,
        set: &mut FlowSet,
        header: &TestHeader,
        peer: SocketAddr,
        layout: HeaderLayout,
        limit: DatagramLimit,
    ) -> Result<(), String> {
        // 2.0.x asks for a rate in another field.
        let old_rate = match header.window_or_rate {
            0 => UDP_RATE,
            rate => u64::from(rate),
        };
        let rate = self
            .state
            .limited_rate(self.requested_rate().or(Some(old_rate)));
        let length = match header.length {
            0 => 1470,
            length => length.min(MAX_DATAGRAM),
        };
        let any = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let local = SocketAddr::new(self.back_binding().address.unwrap_or(any), 0);
        let socket = UdpSocket::bind(local)
            .and_then(|socket| socket.connect(peer).map(|()| socket))
            .map_err(|cause| format!("cannot connect back: {cause}"))?;
        let (_, bytes) = self.end();
        let first = i64::from(layout != HeaderLayout::Twelve);
        let format = Iperf2Format::new(layout, first, Vec::new());
        // 2.0.13 and before do not count the datagram by which they learn of a flow.
        let opening = match self.extension().map(|extended| extended.layout) {
            Some(ExtensionLayout::Announced) => FlowOpening::FirstDatagram,
            _ if first == 0 => FlowOpening::FirstDatagram,
            _ => FlowOpening::NumberZero,
        };
        self.add_back(
            set,
            peer,
            DataSocket::Udp(socket),
            (length, rate),
            |session, flow| {
                let announcement = EndAnnouncement::UntilReported(session.answers.clone());
                Iperf2DatagramSender::new(flow, format, length, rate, bytes, announcement)
                    .with_limit(limit)
                    .with_opening(opening)
                    .into_task()
            },
        )
    }

    /// Adds the flow of a connection back, of blocks or datagrams of this length at this rate.
    fn add_back(
        &mut self,
        set: &mut FlowSet,
        peer: SocketAddr,
        socket: DataSocket,
        (length, rate): (u32, Option<u64>),
        task: impl FnOnce(&Self, u32) -> FlowWork,
    ) -> Result<(), String> {
        self.send_event(&Event::Connecting(ConnectingSocket {
            peer,
            transport: socket.transport(),
            length,
            rate_bps: rate,
            buffer_bytes: buffers::send_buffer(&socket).unwrap_or(0),
        }));
        let number = self.state.next_number();
        let flow = self.next_flow(Role::Sender);
        let task = task(self, flow.id);
        self.add_flow(set, flow, number, &Arc::new(socket), task)
            .map_err(|error| error.to_string())
    }
}
