//! A session over TCP.

use super::bounceback::bounce_task;
use super::burst_reader::BurstReader;
use super::connect_back::BackTransport;
use super::server_state::{Iperf2State, MAX_BLOCK, TCP_LENGTH};
use super::session::Iperf2ServerSession;
use super::tcp::{CLOSE_TIMEOUT, ReadOptions, pattern_payload, tcp_receiver, tcp_sender};
use super::wall_clock::wall_clock;
use caudal_core::plan::Transport;
use caudal_core::sample::Role;
use caudal_engine::ClientRefusal;
use caudal_engine::admission::Place;
use caudal_flow::socket::DataSocket;
use caudal_flow::{FlowSet, FlowWork, TcpClose, await_close, read_some};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::options;
use caudal_sys::poll::poll_readable;
use caudal_wire::iperf2::{
    MAX_HEADER_BYTES, ServerAck, TcpOpening, TestHeader, TestMode, VERSION, permit_key,
};
use caudal_wire::message::Refusal;
use socket2::SockRef;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// The time a connection may take to send its header.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time sent data may stay unacknowledged before the kernel gives the connection up.
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves a client over TCP.
///
/// # Errors
/// The reason why its test was refused or ended early.
pub(super) fn serve(
    state: &Iperf2State,
    stream: TcpStream,
    peer: SocketAddr,
    pending: Place,
) -> Result<(), ClientRefusal> {
    let _ = stream.set_nonblocking(false);
    let opening = read_opening(state, &stream);
    drop(pending);
    let Some((opening, bytes)) = opening? else {
        return Ok(());
    };
    if !is_permitted(state.options.permit_key.as_deref(), &bytes) {
        let message = "its permit key is missing or not the one of this server";
        return Err(ClientRefusal::new(Refusal::Authentication, message));
    }
    let slot = state.admission.admit_patiently(peer.ip(), &stream)?;
    slot.count_test();
    let _handshake = state.handshakes.open(peer.ip());
    // A client that vanishes is noticed; a kernel without the option waits longer.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(USER_TIMEOUT));
    if state.options.no_delay {
        let _ = stream.set_nodelay(true);
    }
    let header = match &opening {
        TcpOpening::Test(header, _) => Some(*header),
        _ => None,
    };
    let local = stream.local_addr().map_err(ClientRefusal::host)?;
    let mut session = Iperf2ServerSession::new(state, &slot, header, Transport::Tcp, local, peer);
    session.begin();
    if let Some(header) = header {
        acknowledge(&stream, &header, session.test.trip_times);
    }
    let test = TcpTest {
        socket: Arc::new(DataSocket::Tcp(stream)),
        opening,
        bytes,
        session,
    };
    let result = test.run();
    let given_up = slot.given_up().map(ClientRefusal::given_up);
    given_up.map_or(result, Err)
}

/// `true` for a client whose header has the key of the server, where that has one.
fn is_permitted(key: Option<&str>, header: &[u8]) -> bool {
    let Some(key) = key else {
        return true;
    };
    let is_equal = |theirs: &[u8]| {
        // In a time that does not tell where they differ.
        let differences = key.bytes().zip(theirs).map(|(ours, theirs)| ours ^ theirs);
        theirs.len() == key.len() && differences.fold(0, |all, difference| all | difference) == 0
    };
    permit_key(header).is_some_and(is_equal)
}

/// Reads the first bytes of a connection; `None` when it ended without any, or the server is being stopped.
fn read_opening(
    state: &Iperf2State,
    mut stream: &TcpStream,
) -> Result<Option<(TcpOpening, Vec<u8>)>, ClientRefusal> {
    let until_ns = monotonic_ns() + HEADER_TIMEOUT.as_nanos() as u64;
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let needed = match TcpOpening::parse(&bytes).map_err(ClientRefusal::protocol)? {
            TcpOpening::Needs(needed) => needed,
            opening => return Ok(Some((opening, bytes))),
        };
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        let ready = poll_readable(&[stream.as_fd(), state.stop.fd()], Some(left))
            .map_err(ClientRefusal::host)?;
        if ready.get(1) == Some(&true) {
            return Ok(None);
        }
        if !ready.contains(&true) {
            return Err(ClientRefusal::protocol(format_args!(
                "it did not send its header within {} s",
                HEADER_TIMEOUT.as_secs()
            )));
        }
        let mut room = [0; MAX_HEADER_BYTES];
        let wanted = needed.saturating_sub(bytes.len()).clamp(1, room.len());
        match read_some(&mut stream, &mut room, wanted) {
            Ok([]) if bytes.is_empty() => return Ok(None),
            // Too little for a header is payload.
            Ok([]) => return Ok(Some((TcpOpening::Payload, bytes))),
            Ok(some) => bytes.extend_from_slice(some),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(_) if bytes.is_empty() => return Ok(None),
            Err(cause) => return Err(ClientRefusal::new(Refusal::Other, cause.to_string())),
        }
    }
}

/// Answers a header that is to be answered.
fn acknowledge(mut stream: &TcpStream, header: &TestHeader, trip_times: bool) {
    if !header.is_answered() {
        return;
    }
    let received = wall_clock();
    let ack = ServerAck {
        version: VERSION,
        times: trip_times.then(|| [received, received, wall_clock()]),
    };
    // A client that does not read it any more is noticed when payload is expected.
    let _ = stream.write_all(&ack.encode());
}

/// The test of a session over TCP.
struct TcpTest<'a> {
    session: Iperf2ServerSession<'a>,
    socket: Arc<DataSocket>,
    opening: TcpOpening,
    /// The bytes read from the connection.
    bytes: Vec<u8>,
}

impl TcpTest<'_> {
    fn run(mut self) -> Result<(), ClientRefusal> {
        let state = self.session.state;
        let mode = self.session.test.mode;
        let set = self.flows()?;
        let (time, _) = self.session.end();
        let idle_timeout = state.options.idle_timeout;
        let failure = self.session.run(set, time, idle_timeout).failure;
        if let (TestMode::FullDuplex, Some(stream)) = (mode, self.socket.tcp()) {
            let _ = await_close(stream, CLOSE_TIMEOUT);
        }
        let Self {
            mut session,
            socket,
            ..
        } = self;
        // The client's place has a copy of the descriptor, and the client waits for the end of the connection.
        if let Some(stream) = socket.tcp() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(socket);
        if mode == TestMode::Tradeoff && !state.is_stopping() {
            let mut set = session.new_set()?;
            if session.connect_back(&mut set, BackTransport::Tcp) {
                session.run(set, time, idle_timeout);
            }
        }
        match failure {
            Some(failure) if !state.is_stopping() => Err(failure),
            _ => Ok(()),
        }
    }

    /// The flows of the test.
    fn flows(&mut self) -> Result<FlowSet, caudal_flow::RunError> {
        let mode = self.session.test.mode;
        let mut set = self.session.new_set()?;
        if let TcpOpening::Bounceback = self.opening {
            let task = bounce_task(std::mem::take(&mut self.bytes));
            self.add(&mut set, Role::Receiver, task)?;
            return Ok(set);
        }
        if mode != TestMode::Reverse {
            let task = self.receiver();
            self.add(&mut set, Role::Receiver, task)?;
        }
        if matches!(mode, TestMode::Reverse | TestMode::FullDuplex) {
            let header_bytes = self.send_header()?;
            let task = self.sender(header_bytes);
            self.add(&mut set, Role::Sender, task)?;
        }
        if mode == TestMode::Dual {
            self.session.connect_back(&mut set, BackTransport::Tcp);
        }
        Ok(set)
    }

    fn add(
        &mut self,
        set: &mut FlowSet,
        role: Role,
        task: FlowWork,
    ) -> Result<(), caudal_flow::RunError> {
        let flow = self.session.next_flow(role);
        let number = self.session.test.number;
        self.session.add_flow(set, flow, number, &self.socket, task)
    }

    fn receiver(&self) -> FlowWork {
        let options = &self.session.state.options;
        let length = options.length.unwrap_or(TCP_LENGTH) as usize;
        let trip_times = self.session.test.trip_times;
        let read = ReadOptions {
            count_reads: options.count_reads
                || trip_times && options.views.is_some() && !options.discard,
            discard: options.discard,
        };
        let mut receiver = tcp_receiver(length, read);
        if trip_times {
            let histogram = self.session.histogram(0);
            receiver.observer = Some(Box::new(BurstReader::behind_header(histogram)));
        }
        receiver.bytes_before = self.bytes.len() as u64;
        receiver.into_task()
    }

    /// Sends the header that a client expects before bursts with times: its length.
    fn send_header(&self) -> Result<u64, caudal_flow::RunError> {
        let asked = self.session.header.filter(|_| self.session.test.trip_times);
        let (Some(mut header), Some(mut stream)) = (asked, self.socket.tcp()) else {
            return Ok(0);
        };
        if header.mode == TestMode::Reverse {
            header.mode = TestMode::Up;
        }
        if let Some(extended) = &mut header.extended {
            extended.version = VERSION;
            extended.rate = 0;
        }
        let bytes = header.encode_tcp(wall_clock());
        stream
            .write_all(&bytes)
            .map_err(|cause| caudal_flow::RunError::Lost {
                doing: "answering a test header",
                cause,
            })?;
        Ok(bytes.len() as u64)
    }

    fn sender(&self, header_bytes: u64) -> FlowWork {
        let session = &self.session;
        if let (Some(stream), Some(extended)) = (self.socket.tcp(), session.extension())
            && extended.tos != 0
        {
            let _ = options::set_tos(stream, extended.tos as u8);
        }
        let length = session.header.map_or(0, |header| header.length);
        let length = match length.min(MAX_BLOCK) {
            0 => session.state.options.length.unwrap_or(TCP_LENGTH),
            length => length,
        } as usize;
        let rate = session.state.limited_rate(session.requested_rate());
        let (_, bytes) = session.end();
        let bytes = bytes.map(|bytes| bytes.saturating_sub(header_bytes));
        let close = TcpClose::AwaitClose(match session.test.mode {
            TestMode::Reverse => Some(CLOSE_TIMEOUT),
            _ => None,
        });
        let payload = pattern_payload(length, session.test.trip_times);
        let mut sender = tcp_sender(payload, length, rate, bytes, close);
        sender.bytes_before = header_bytes;
        sender.into_task()
    }
}
