//! Accepting connections, and passing them to sessions by their first bytes.
//!
//! One thread, in which nothing waits for a single client: a connection that sends nothing costs a descriptor until its
//! deadline, and the oldest of too many is closed.

use super::authentication::ProtocolAccess;
use super::pending::{PendingRead, PendingStream};
use super::session;
use super::state::ServerState;
use super::test_registry::ArrivedSocket;
use crate::admission::{
    ClientSlot, ClientSource, NoPlace, NotAdmitted, Release, choose_to_give_way,
};
use crate::client_refusal::ClientRefusal;
use crate::peer::iperf3::{self, Delivery};
use crate::protocol::Protocol;
use crate::socket::{Accepted, ReservedListener, canonical, reply_udp_socket};
use crate::stop::join_finished;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::udp::receive_with_destination;
use caudal_wire::datagram::{DatagramKind, OPENING_BYTES, OpeningDatagram};
use caudal_wire::iperf3::Cookie;
use caudal_wire::iperf3::datagram::answer_to;
use caudal_wire::message::Refusal;
use caudal_wire::preamble::{PROTOCOL, PreambleError, Purpose};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The maximum number of pending connections.
const MAX_PENDING: usize = 512;
/// The maximum number of connections accepted, or datagrams read, in one round: a flood of them must not starve the others.
const MAX_PER_ROUND: usize = 64;
/// The maximum wait while nothing is pending.
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
    pending: Vec<PendingStream>,
    /// Connections accepted so far.
    accepted: u64,
    /// Sessions begun so far.
    sessions: u64,
}

/// The placement of a connection whose first bytes are complete.
enum Placement {
    /// It was refused.
    Refused,
    /// All slots are in use, and one may become free soon.
    Wait,
    /// It is passed on.
    Passed(Box<dyn FnOnce(TcpStream)>),
}

impl Acceptor {
    pub(super) fn new(
        state: Arc<ServerState>,
        tcp: TcpListener,
        udp: UdpSocket,
        port: u16,
    ) -> Self {
        let _ = udp.set_nonblocking(true);
        Self {
            state,
            tcp: ReservedListener::new(tcp),
            udp,
            port,
            pending: Vec::new(),
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
        let now = monotonic_ns();
        let pending = std::mem::take(&mut self.pending);
        for (nth, mut one) in pending.into_iter().enumerate() {
            let is_ready = ready.get(nth).copied().unwrap_or(false);
            let read = match (one.waits_for_slot(), is_ready) {
                // What it sends meanwhile belongs to its session.
                (true, _) => PendingRead::Complete,
                (false, true) => one.read(),
                (false, false) => PendingRead::Incomplete,
            };
            match read {
                PendingRead::Incomplete => {}
                PendingRead::Closed => continue,
                PendingRead::Complete => match self.place(&mut one) {
                    Placement::Refused => one.is_refused = true,
                    Placement::Wait => {}
                    Placement::Passed(pass) => {
                        pass(one.stream);
                        continue;
                    }
                },
            }
            if now < one.deadline_ns {
                self.pending.push(one);
            } else if !one.is_refused {
                let refusal = ClientRefusal::protocol("it did not show what it is for within 5 s");
                self.state.send_refused(Protocol::Native, one.peer, refusal);
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..MAX_PER_ROUND {
            let (stream, peer) = match self.tcp.accept() {
                Ok(Accepted::Stream(stream, peer)) => (stream, peer),
                Ok(Accepted::Closed(peer)) => {
                    // Another pending connection makes room for the next.
                    let peer = canonical(peer);
                    self.make_room(peer.ip());
                    let refusal = ClientRefusal::host("no descriptor is left for it");
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
            self.pending
                .push(PendingStream::new(stream, peer, self.accepted, denied));
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

    /// Determines the destination of a connection by its first bytes.
    fn place(&mut self, one: &mut PendingStream) -> Placement {
        let state = Arc::clone(&self.state);
        let cookie = one.cookie().filter(|_| state.options.iperf3.enabled);
        if let Some(denied) = one.denied.take() {
            let refusal = ClientRefusal::from(denied);
            match cookie {
                Some(_) => one.refuse_iperf3(&state, refusal),
                None => one.refuse(&state, refusal),
            }
            return Placement::Refused;
        }
        let is_closed = |protocol| state.options.access(protocol) == ProtocolAccess::Closed;
        if let Some(cookie) = cookie {
            if is_closed(Protocol::Iperf3) {
                let reason =
                    "clients must authenticate themselves, and no logins of iperf3 are set up here";
                let refusal = ClientRefusal::new(Refusal::Authentication, reason);
                one.refuse_iperf3(&state, refusal);
                return Placement::Refused;
            }
            return self.place_iperf3(one, cookie);
        }
        match Purpose::decode(&one.preamble()) {
            Ok(Purpose::Control) if is_closed(Protocol::Native) => {
                let message = "it answers only clients that authenticate themselves, and has no tokens for \
                               those of caudal";
                let refusal = ClientRefusal::new(Refusal::Authentication, message);
                one.refuse(&state, refusal);
                Placement::Refused
            }
            Ok(Purpose::Control) => self.place_control(one),
            Ok(Purpose::Data { token, flow }) => {
                if !state.tests.contains(token) {
                    let message = "no test here has this token";
                    one.refuse(&state, ClientRefusal::protocol(message));
                    return Placement::Refused;
                }
                Placement::Passed(Box::new(move |stream| {
                    state
                        .tests
                        .deliver(token, || Some(ArrivedSocket::Tcp(flow, stream)));
                }))
            }
            Ok(Purpose::Probe { token }) => {
                if state.tests.answers_probes(token) {
                    one.answer_probe();
                } else {
                    let message = "no running test here has this token";
                    one.refuse(&state, ClientRefusal::protocol(message));
                }
                Placement::Refused
            }
            Err(PreambleError::Version(theirs)) => {
                let message = format!(
                    "the client speaks protocol {theirs}, this server {PROTOCOL}; update the older one"
                );
                one.refuse(&state, ClientRefusal::new(Refusal::Version, message));
                Placement::Refused
            }
            Err(error) => {
                one.refuse_unknown(&state, ClientRefusal::protocol(error));
                Placement::Refused
            }
        }
    }

    fn place_control(&mut self, one: &mut PendingStream) -> Placement {
        let peer = one.peer;
        let serve = move |state: &ServerState, stream, number, slot: &ClientSlot| {
            session::serve(state, stream, peer, number, slot);
        };
        self.begin_session(Protocol::Native, one, serve)
            .unwrap_or_else(|no_place| {
                if one.may_wait_for_slot(&self.state) {
                    return Placement::Wait;
                }
                one.refuse(&self.state, NotAdmitted::from(no_place).into());
                Placement::Refused
            })
    }

    /// Passes a connection of iperf3 to its test, or begins a session.
    fn place_iperf3(&mut self, one: &mut PendingStream, cookie: Cookie) -> Placement {
        let peer = one.peer;
        let Ok(stream) = one.stream.try_clone() else {
            let refusal = ClientRefusal::host("no descriptor is left for it");
            one.refuse_iperf3(&self.state, refusal);
            return Placement::Refused;
        };
        match self.state.iperf3_tests.deliver(&cookie, one.serial, stream) {
            // The test has a clone of the connection.
            Delivery::Taken => Placement::Passed(Box::new(drop)),
            Delivery::Unwanted => {
                let refusal = ClientRefusal::protocol("its test takes no more data connections");
                one.refuse_iperf3(&self.state, refusal);
                Placement::Refused
            }
            Delivery::New => {
                let serve = move |state: &ServerState, stream, number, slot: &ClientSlot| {
                    iperf3::serve(state, stream, peer, number, cookie, slot);
                };
                self.begin_session(Protocol::Iperf3, one, serve)
                    .unwrap_or_else(|no_place| {
                        if one.may_wait_for_slot(&self.state) {
                            return Placement::Wait;
                        }
                        let refusal = NotAdmitted::from(no_place).into();
                        one.refuse_iperf3(&self.state, refusal);
                        Placement::Refused
                    })
            }
        }
    }

    /// Reserves a slot for a client and prepares a thread that serves it.
    ///
    /// # Errors
    /// When all slots are in use.
    fn begin_session(
        &mut self,
        protocol: Protocol,
        one: &PendingStream,
        serve: impl FnOnce(&ServerState, TcpStream, u64, &ClientSlot) + Send + 'static,
    ) -> Result<Placement, NoPlace> {
        // Clients of other protocols occupy slots as well.
        let (peer, capacity) = (one.peer, self.state.options.capacity());
        let release = || Release::of_connection(&one.stream);
        let slot = self.state.admission.reserve(peer.ip(), capacity, release)?;
        self.sessions += 1;
        let (state, number) = (Arc::clone(&self.state), self.sessions);
        Ok(Placement::Passed(Box::new(move |stream| {
            let inner = Arc::clone(&state);
            let session = thread::Builder::new()
                .name(format!("client {number}"))
                .stack_size(SESSION_STACK_BYTES)
                .spawn(move || {
                    serve(&inner, stream, number, &slot);
                    if let Some(reason) = slot.given_up() {
                        inner.send_refused(protocol, peer, ClientRefusal::given_up(reason));
                    }
                    drop(slot);
                });
            match session {
                Ok(session) => state.sessions().push(session),
                Err(cause) => {
                    let refusal = ClientRefusal::host(format_args!("no thread for it: {cause}"));
                    state.send_refused(protocol, peer, refusal);
                }
            }
        })))
    }

    /// Opens a socket towards every address that sends the token of a test, which is then challenged; or that says hello as
    /// clients of iperf3 do, from the address of a client whose turn it is.
    fn open_udp(&self) {
        let mut datagram = [0; OPENING_BYTES + 1];
        for _ in 0..MAX_PER_ROUND {
            let Ok((size, peer, local)) = receive_with_destination(&self.udp, &mut datagram) else {
                return;
            };
            let peer = canonical(peer);
            let any: IpAddr = match peer {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            let local = SocketAddr::new(local.map_or(any, |local| local.to_canonical()), self.port);
            if let Some(answer) = answer_to(&datagram[..size]) {
                self.state
                    .iperf3_tests
                    .greet(peer, answer, || reply_udp_socket(local, peer, size));
                continue;
            }
            let Some(opening) = OpeningDatagram::decode(&datagram[..size]) else {
                continue;
            };
            if opening.kind == DatagramKind::Hello {
                self.state.tests.deliver(opening.token, || {
                    let socket = reply_udp_socket(local, peer, size).ok()?;
                    Some(ArrivedSocket::Udp(opening.flow, socket, peer))
                });
            }
        }
    }
}
