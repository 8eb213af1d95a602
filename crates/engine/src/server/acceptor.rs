//! Accepting connections, and passing them to sessions by their first bytes.
//!
//! One thread, in which nothing waits for a single client: a connection that sends nothing costs a descriptor until its
//! deadline, and the oldest of too many is closed.

use super::answer_budget::AnswerBudget;
use super::authentication::ProtocolAccess;
use super::pending::{PendingRead, PendingStream};
use super::session;
use super::shared_port::{SharedPortClient, SharedPortDelivery, SharedPortProtocol};
use super::state::ServerState;
use super::test_registry::ArrivedSocket;
use crate::admission::{ClientSlot, NotAdmitted, Release, choose_to_give_way};
use crate::client_refusal::ClientRefusal;
use crate::workload::ConnectionAnswer;
use caudal_core::plan::MAX_DATAGRAM;
use caudal_flow::socket::{
    Accepted, ReservedListener, canonical, is_out_of_descriptors, reply_udp_socket,
};
use caudal_flow::{ClientSource, join_finished};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::process::open_file_limit;
use caudal_sys::udp::{receive_with_destination, set_mtu_probing};
use caudal_wire::datagram::{DatagramKind, OpeningDatagram};
use caudal_wire::frame;
use caudal_wire::message::{Refusal, ToClient};
use caudal_wire::preamble::{PREAMBLE_BYTES, PROTOCOL, PreambleAnswer, PreambleError, Purpose};
use caudal_wire::protocol::Protocol;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

/// Maximum number of pending connections.
const MAX_PENDING: usize = 512;
/// Maximum number of connections accepted, or datagrams read, in one round: a flood of them must not starve the others.
const MAX_PER_ROUND: usize = 64;
/// Maximum wait while nothing is pending.
const IDLE_WAIT: Duration = Duration::from_secs(1);
/// The interval at which a server for one client looks whether it has left.
const ONE_OFF_WAIT: Duration = Duration::from_millis(50);
/// The interval at which slots are looked at while a client waits for one.
const SLOT_WAIT: Duration = Duration::from_millis(5);
const SESSION_STACK_BYTES: usize = 512 << 10;

/// The thread that accepts connections.
pub(super) struct Acceptor {
    state: Arc<ServerState>,
    tcp: ReservedListener,
    udp: UdpSocket,
    port: u16,
    /// Room for a datagram.
    datagram: Vec<u8>,
    pending: Vec<PendingStream>,
    /// The answers to hellos of unknown tests.
    no_test_answers: AnswerBudget,
    /// Connections accepted so far.
    accepted: u64,
    /// Sessions begun so far.
    sessions: u64,
}

/// The reason to refuse a connection for which there is no descriptor.
fn no_descriptor() -> String {
    let limit = open_file_limit();
    format!(
        "no descriptor is left for it: all {limit} that the server may have (ulimit -n) are in use"
    )
}

/// The answer to the first bytes of a connection for which there is no descriptor: none to a protocol that cannot read it.
fn refusal_without_descriptor(first: &[u8]) -> Vec<u8> {
    let preamble = first.first_chunk::<PREAMBLE_BYTES>();
    if preamble.is_none_or(|preamble| Purpose::decode(preamble).is_err()) {
        return Vec::new();
    }
    let refused = ToClient::Refused {
        reason: Refusal::Host,
        message: no_descriptor().into(),
        instance: None,
    };
    let mut answer = PreambleAnswer::Refused.encode().to_vec();
    answer.extend(frame::encode(&refused).unwrap_or_default());
    answer
}

impl Acceptor {
    pub(super) fn new(
        state: Arc<ServerState>,
        tcp: TcpListener,
        udp: UdpSocket,
        port: u16,
    ) -> Self {
        let _ = udp.set_nonblocking(true);
        // Answers to probes of the path MTU are not to be fragmented; nothing else is sent from this socket.
        let _ = set_mtu_probing(&udp);
        Self {
            state,
            tcp: ReservedListener::new(tcp),
            udp,
            port,
            datagram: vec![0; MAX_DATAGRAM as usize + 1],
            pending: Vec::new(),
            no_test_answers: AnswerBudget::default(),
            accepted: 0,
            sessions: 0,
        }
    }

    /// Accepts connections until the server is stopped, or its only client has left.
    pub(super) fn run(mut self) {
        while !self.state.is_stopping() && !self.state.is_done() {
            let ready = match poll_readable(&self.fds(), Some(self.wait())) {
                Ok(ready) => ready,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    // Out of memory at worst: try again, but not at full speed.
                    thread::sleep(Duration::from_millis(10));
                    continue;
                }
            };
            let is_ready = |nth: usize| ready.get(nth).copied().unwrap_or(false);
            self.read_pending(ready.get(3..).unwrap_or_default());
            if is_ready(0) {
                self.accept();
            }
            if is_ready(1) {
                self.open_udp();
            }
            join_finished(&mut self.state.sessions());
        }
    }

    /// The descriptors to wait for: the listening sockets, the stop, then the pending connections.
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let mut fds = vec![self.tcp.as_fd(), self.udp.as_fd(), self.state.stop_fd()];
        // A client that waits for a slot sends nothing before it has one; its entry only keeps the order.
        fds.extend(self.pending.iter().map(|one| match one.waits_for_slot() {
            true => self.state.stop_fd(),
            false => one.stream.as_fd(),
        }));
        fds
    }

    fn wait(&self) -> Duration {
        let deadline_ns = self.pending.iter().map(|one| one.deadline_ns).min();
        let mut wait = deadline_ns.map_or(IDLE_WAIT, |at| {
            Duration::from_nanos(at.saturating_sub(monotonic_ns()))
        });
        if self.state.options.one_off {
            wait = wait.min(ONE_OFF_WAIT);
        }
        if self.pending.iter().any(PendingStream::waits_for_slot) {
            wait = wait.min(SLOT_WAIT);
        }
        wait
    }

    /// Reads from the pending connections that are readable, and passes on those whose first bytes are complete.
    fn read_pending(&mut self, ready: &[bool]) {
        let pending = std::mem::take(&mut self.pending);
        for (nth, one) in pending.into_iter().enumerate() {
            let is_ready = ready.get(nth).copied().unwrap_or(false);
            let waiting = self.advance(one, is_ready);
            self.pending.extend(waiting);
        }
    }

    /// Reads from a pending connection where it may be readable, and passes it on when its first bytes are complete; it is given back where
    /// it goes on pending.
    fn advance(&mut self, mut one: PendingStream, is_ready: bool) -> Option<PendingStream> {
        let read = match (one.waits_for_slot(), is_ready) {
            // What it sends meanwhile belongs to its session.
            (true, _) => PendingRead::Complete,
            (false, true) => one.read(&self.state.options.shared_port),
            (false, false) => PendingRead::Incomplete,
        };
        let one = match read {
            PendingRead::Incomplete => one,
            PendingRead::Closed => return None,
            PendingRead::Complete => self.place(one)?,
        };
        if monotonic_ns() < one.deadline_ns {
            return Some(one);
        }
        if !one.is_refused {
            let refusal = ClientRefusal::protocol("it did not show what it is for within 5 s");
            self.state.send_refused(Protocol::Native, one.peer, refusal);
        }
        None
    }

    fn accept(&mut self) {
        for _ in 0..MAX_PER_ROUND {
            let (stream, peer) = match self.tcp.accept_or_refuse(refusal_without_descriptor) {
                Ok(Accepted::Stream(stream, peer)) => (stream, peer),
                Ok(Accepted::Closed(peer)) => {
                    // Another pending connection makes room for the next.
                    let peer = canonical(peer);
                    self.make_room(peer.ip());
                    self.state.closed_without_descriptor();
                    let refusal = ClientRefusal::host(no_descriptor());
                    self.state.send_refused(Protocol::Native, peer, refusal);
                    continue;
                }
                Ok(Accepted::Nothing) => return,
                Err(_) => {
                    thread::sleep(Duration::from_millis(5));
                    return;
                }
            };
            let peer = canonical(peer);
            if stream.set_nonblocking(true).is_err() || stream.set_nodelay(true).is_err() {
                continue;
            }
            if self.pending.len() >= MAX_PENDING {
                self.make_room(peer.ip());
            }
            let denied = self.state.admission.check_address(peer.ip()).err();
            self.accepted += 1;
            let one = PendingStream::new(stream, peer, self.accepted, denied);
            // Most have sent their first bytes by now.
            let waiting = self.advance(one, true);
            self.pending.extend(waiting);
        }
    }

    /// Closes the pending connection that gives way to one from `newcomer`.
    fn make_room(&mut self, newcomer: IpAddr) {
        let pending: Vec<_> = self
            .pending
            .iter()
            .map(|one| (ClientSource::from(one.peer.ip()), Some(one.serial)))
            .collect();
        let nth = choose_to_give_way(&pending, newcomer.into(), false).unwrap_or(0);
        if nth < self.pending.len() {
            self.pending.remove(nth);
        }
    }

    /// Passes a connection whose first bytes are complete to its destination; gives it back where it was refused, or waits for a slot.
    fn place(&mut self, mut one: PendingStream) -> Option<PendingStream> {
        let state = Arc::clone(&self.state);
        let recognised = one.recognised(&state.options.shared_port);
        if let Some(denied) = one.denied.take() {
            let refusal = ClientRefusal::from(denied);
            match recognised {
                Some(protocol) => one.refuse_shared(&*protocol, &state, refusal),
                None => one.refuse(&state, refusal),
            }
            return Some(one);
        }
        if let Some(protocol) = recognised {
            return self.place_shared(one, &protocol);
        }
        let (reason, message) = match Purpose::decode(&one.preamble()) {
            Ok(Purpose::Control) => {
                if state.options.access(Protocol::Native) != ProtocolAccess::Closed {
                    return self.place_control(one);
                }
                let message = "it answers only clients that authenticate themselves, and has no tokens for \
                               those of caudal";
                (Refusal::Authentication, message.to_owned())
            }
            Ok(Purpose::Data { token, flow }) => {
                if state.tests.contains(token) {
                    let arrived = ArrivedSocket::Tcp(flow, one.stream);
                    state.tests.deliver(token, || Some(arrived));
                    return None;
                }
                (Refusal::Test, "no test here has this token".to_owned())
            }
            Ok(Purpose::Probe { token }) => {
                match state.tests.connection_answer(token) {
                    Some(ConnectionAnswer::UntilClosed) => {
                        one.answer_probe();
                        return Some(one);
                    }
                    Some(ConnectionAnswer::AtOnce(answered)) => {
                        one.answer_at_once();
                        answered.fetch_add(1, Relaxed);
                        return None;
                    }
                    Some(ConnectionAnswer::Pass(connections)) => {
                        connections.pass(one.stream);
                        return None;
                    }
                    None => {}
                }
                (
                    Refusal::Test,
                    "no running test here has this token".to_owned(),
                )
            }
            Err(PreambleError::Version(theirs)) => {
                let message = format!(
                    "the client speaks protocol {theirs}, this server {PROTOCOL}; update the older one"
                );
                (Refusal::Version, message)
            }
            Err(error) => {
                one.refuse_unknown(&state, ClientRefusal::protocol(error));
                return Some(one);
            }
        };
        one.refuse(&state, ClientRefusal::new(reason, message));
        Some(one)
    }

    fn place_control(&mut self, mut one: PendingStream) -> Option<PendingStream> {
        let peer = one.peer;
        let serve = move |state: &ServerState, stream, number, slot: &ClientSlot| {
            session::serve(state, stream, peer, number, slot);
        };
        match self.reserve_slot(&one) {
            Ok(slot) => {
                self.begin_session(Protocol::Native, one, slot, serve);
                None
            }
            Err(reason) => {
                if !one.may_wait_for_slot(&self.state) {
                    one.refuse(&self.state, reason.into());
                }
                Some(one)
            }
        }
    }

    /// Passes a connection of another protocol to its test, or begins a session.
    fn place_shared(
        &mut self,
        mut one: PendingStream,
        protocol: &Arc<dyn SharedPortProtocol>,
    ) -> Option<PendingStream> {
        let name = protocol.protocol();
        if self.state.options.access(name) == ProtocolAccess::Closed {
            let reason = format!(
                "clients must authenticate themselves, and no logins of {name} are set up here"
            );
            let refusal = ClientRefusal::new(Refusal::Authentication, reason);
            one.refuse_shared(&**protocol, &self.state, refusal);
            return Some(one);
        }
        let (peer, first) = (one.peer, one.first().to_vec());
        match protocol.deliver(&first, one.serial, one.stream) {
            SharedPortDelivery::Taken => return None,
            SharedPortDelivery::Unwanted(stream) => {
                one.stream = stream;
                let refusal = ClientRefusal::protocol("its test takes no more data connections");
                one.refuse_shared(&**protocol, &self.state, refusal);
                return Some(one);
            }
            SharedPortDelivery::New(stream) => one.stream = stream,
        }
        let served = Arc::clone(protocol);
        let serve = move |state: &ServerState, stream, number, slot: &ClientSlot| {
            let client = SharedPortClient {
                protocol: name,
                peer,
                number,
                slot,
                limits: state.options.limits.of_client(peer.ip()),
                stop: &state.stop,
                events: &state.events,
            };
            served.serve(&client, &first, stream);
        };
        match self.reserve_slot(&one) {
            Ok(slot) => {
                self.begin_session(name, one, slot, serve);
                None
            }
            Err(reason) => {
                if !one.may_wait_for_slot(&self.state) {
                    let refusal = reason.into();
                    one.refuse_shared(&**protocol, &self.state, refusal);
                }
                Some(one)
            }
        }
    }

    /// Reserves a slot for a client.
    ///
    /// # Errors
    /// When all slots are in use, or the memory of this process is.
    fn reserve_slot(&self, one: &PendingStream) -> Result<ClientSlot, NotAdmitted> {
        // Clients of other protocols occupy slots as well.
        let capacity = self.state.options.capacity();
        let release = || Release::of_connection(&one.stream);
        self.state
            .admission
            .reserve(one.peer.ip(), capacity, release)
    }

    /// Starts a thread that serves a client.
    fn begin_session(
        &mut self,
        protocol: Protocol,
        one: PendingStream,
        slot: ClientSlot,
        serve: impl FnOnce(&ServerState, TcpStream, u64, &ClientSlot) + Send + 'static,
    ) {
        let PendingStream { stream, peer, .. } = one;
        self.sessions += 1;
        let (state, number) = (Arc::clone(&self.state), self.sessions);
        let session = thread::Builder::new()
            .name(format!("client {number}"))
            .stack_size(SESSION_STACK_BYTES)
            .spawn(move || {
                serve(&state, stream, number, &slot);
                if let Some(reason) = slot.given_up() {
                    state.send_refused(protocol, peer, ClientRefusal::given_up(reason));
                }
                drop(slot);
            });
        match session {
            Ok(session) => self.state.sessions().push(session),
            Err(cause) => {
                let refusal = ClientRefusal::host(format_args!("no thread for it: {cause}"));
                self.state.send_refused(protocol, peer, refusal);
            }
        }
    }

    /// Opens a socket towards every address that sends the token of a test, which is then challenged; datagrams of
    /// other protocols are passed to them.
    fn open_udp(&mut self) {
        for _ in 0..MAX_PER_ROUND {
            let received = receive_with_destination(&self.udp, &mut self.datagram);
            let Ok((size, source, to)) = received else {
                return;
            };
            let Some(datagram) = self.datagram.get_mut(..size) else {
                continue;
            };
            let probes = &self.state.mtu_probes;
            if probes.answer(&self.udp, datagram, source, to) {
                continue;
            }
            let datagram = &*datagram;
            let peer = canonical(source);
            let any: IpAddr = match peer {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let local = to.map_or(SocketAddr::new(any, self.port), |to| {
                to.socket_address(self.port)
            });
            let device = self.state.options.device.as_deref();
            let open = || reply_udp_socket(local, peer, size, device);
            let takes =
                |shared: &Arc<dyn SharedPortProtocol>| shared.take_datagram(datagram, peer, &open);
            if self.state.options.shared_port.iter().any(takes) {
                continue;
            }
            let Some(opening) = OpeningDatagram::decode(datagram) else {
                continue;
            };
            if opening.kind != DatagramKind::Hello {
                continue;
            }
            if self.state.tests.contains(opening.token) {
                let mut refused = None;
                self.state.tests.deliver(opening.token, || {
                    let socket = reply_udp_socket(local, peer, size, device);
                    let socket = socket.map_err(|cause| refused = Some(cause)).ok()?;
                    Some(ArrivedSocket::Udp(opening.flow, socket, peer))
                });
                if refused.is_some_and(|cause| is_out_of_descriptors(&cause)) {
                    self.state.closed_without_descriptor();
                }
            } else if self.state.admission.check_address(peer.ip()).is_ok()
                && self.no_test_answers.take(monotonic_ns())
                && let Ok(socket) = reply_udp_socket(local, peer, size, device)
            {
                // As long as the hello, and never in answer to anything but one.
                let answer = opening.without_test(self.state.instance);
                let _ = socket.send(&answer.encode());
            }
        }
    }
}
