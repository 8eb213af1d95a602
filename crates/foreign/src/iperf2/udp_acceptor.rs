//! Accepting the UDP flows of clients: every new address is a test of its own, on a socket of its own.

use super::cut_off::CutOff;
use super::server_state::Iperf2State;
use super::udp_session::{self, FirstContact};
use crate::stream_acceptor::{SESSION_STACK_BYTES, STOP_TIMEOUT, wait_readable};
use caudal_engine::ClientRefusal;
use caudal_engine::admission::{ClientSlot, Release};
use caudal_flow::socket::{UDP_BUFFER, canonical, reply_udp_socket};
use caudal_flow::{AntiAmplificationLimit, join_finished, join_within};
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::udp::receive_with_destination;
use caudal_sys::{buffers, options, udp};
use caudal_wire::iperf2::FirstDatagram;
use caudal_wire::message::Refusal;
use socket2::SockRef;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

/// Maximum number of datagrams held for a flow whose own socket is not open yet.
const MAX_STRAYS: usize = 1024;
/// Minimum interval between reports of refused datagrams, ns: their number is the sender's to choose.
const REFUSED_NS: u64 = 1_000_000_000;
/// Maximum number of datagrams read in one round, so that a flood does not keep a stop from being seen.
const MAX_PER_ROUND: usize = 256;

/// A client whose session runs.
struct KnownClient {
    /// Takes its datagrams that arrive at the listening socket, with their times of arrival.
    strays: SyncSender<(Vec<u8>, u64)>,
    /// Alive as long as its session.
    session: Weak<()>,
    cut_off: CutOff,
}

impl KnownClient {
    fn is_served(&self) -> bool {
        self.session.strong_count() > 0
    }

    /// `true` when its datagrams begin no test.
    fn is_known(&self) -> bool {
        self.is_served() || self.cut_off.holds(monotonic_ns())
    }
}

/// The thread that accepts UDP flows.
pub(super) struct UdpAcceptor {
    state: Arc<Iperf2State>,
    socket: UdpSocket,
    port: u16,
    clients: HashMap<SocketAddr, KnownClient>,
    sessions: Vec<JoinHandle<()>>,
    refused_ns: u64,
    /// Datagrams that arrived at the socket of a flow before it was connected: anybody's.
    early: VecDeque<(Vec<u8>, SocketAddr, IpAddr)>,
}

impl UdpAcceptor {
    pub(super) fn new(state: Arc<Iperf2State>, socket: UdpSocket) -> Self {
        Self {
            state,
            port: socket.local_addr().map_or(0, |local| local.port()),
            socket,
            clients: HashMap::new(),
            sessions: Vec::new(),
            refused_ns: 0,
            early: VecDeque::new(),
        }
    }

    /// Accepts flows until the server is stopped.
    pub(super) fn run(mut self) {
        let _ = self.socket.set_nonblocking(true);
        let mut buffer = vec![0; 65_536];
        while !self.state.is_stopping() {
            if wait_readable(self.socket.as_fd(), &self.state.stop) {
                for _ in 0..MAX_PER_ROUND {
                    let received = receive_with_destination(&self.socket, &mut buffer);
                    let Ok((size, peer, local)) = received else {
                        break;
                    };
                    let (datagram, _) = buffer.split_at(size.min(buffer.len()));
                    let local = local.map(|local| local.address);
                    self.take(datagram, canonical(peer), local);
                    while let Some((datagram, peer, local)) = self.early.pop_front() {
                        self.take(&datagram, peer, Some(local));
                    }
                }
            }
            join_finished(&mut self.sessions);
        }
        join_within(self.sessions, STOP_TIMEOUT);
    }

    /// Takes a datagram: it belongs to a flow that runs, or begins one.
    fn take(&mut self, datagram: &[u8], peer: SocketAddr, local: Option<IpAddr>) {
        let arrived_ns = realtime_ns();
        if let Some(client) = self.clients.get(&peer).filter(|client| client.is_known()) {
            client.cut_off.refresh(monotonic_ns());
            // A full channel, or a flow that has ended, drops it.
            let _ = client.strays.try_send((datagram.to_vec(), arrived_ns));
            return;
        }
        let first = FirstDatagram::read(datagram).filter(|first| first.datagram.id >= 0);
        let Some(first) = first else {
            return;
        };
        let slot = match self.admit(peer) {
            Ok(Some(slot)) => slot,
            Ok(None) => return,
            Err(refusal) => return self.refuse(peer, refusal),
        };
        let local = SocketAddr::new(
            local.map_or_else(|| unspecified(peer), |local| local.to_canonical()),
            self.port,
        );
        let contact = self.open_socket(local, peer).map(|(socket, limit)| {
            let (sender, strays) = sync_channel(MAX_STRAYS);
            if first.is_opening() {
                // It carries no payload that is counted.
                limit.add_received(datagram.len() as u64);
            } else {
                let _ = sender.try_send((datagram.to_vec(), arrived_ns));
            }
            let session = Arc::new(());
            let cut_off = CutOff::default();
            let client = KnownClient {
                strays: sender,
                session: Arc::downgrade(&session),
                cut_off: cut_off.clone(),
            };
            self.clients.insert(peer, client);
            FirstContact {
                socket,
                limit,
                local,
                peer,
                first,
                strays,
                session,
                cut_off,
            }
        });
        match contact {
            Ok(contact) => self.begin_session(contact, slot),
            Err(cause) => {
                let refusal = ClientRefusal::host(format_args!("no socket for it: {cause}"));
                self.state.send_refused(peer, refusal);
            }
        }
    }

    /// Admits a client; `None` while a server for one client at a time serves another.
    fn admit(&mut self, peer: SocketAddr) -> Result<Option<ClientSlot>, ClientRefusal> {
        self.clients.retain(|_, client| client.is_known());
        let served = self.clients.values().filter(|client| client.is_served());
        let (state, running) = (&self.state, served.count());
        if state.options.is_serial && running > 0 {
            return Ok(None);
        }
        // Addresses that are not validated may be forged: they leave half of the slots to others.
        if running >= (state.admission.capacity() / 2).max(1)
            && state.standing_proof(peer.ip()).is_none()
        {
            let message =
                "half of all places are taken by UDP from addresses that are not validated";
            return Err(ClientRefusal::new(Refusal::Full, message));
        }
        let slot = state.admission.admit(peer.ip(), || Release::Flag)?;
        slot.count_test();
        Ok(Some(slot))
    }

    /// Reports a client that was refused, not more often than once a second.
    fn refuse(&mut self, peer: SocketAddr, refusal: ClientRefusal) {
        let now_ns = monotonic_ns();
        if now_ns >= self.refused_ns + REFUSED_NS {
            self.refused_ns = now_ns;
            self.state.send_refused(peer, refusal);
        }
    }

    fn begin_session(&mut self, contact: FirstContact, slot: ClientSlot) {
        let peer = contact.peer;
        let state = Arc::clone(&self.state);
        let session = thread::Builder::new()
            .name("iperf2 session".to_owned())
            .stack_size(SESSION_STACK_BYTES)
            .spawn(move || {
                let result = udp_session::serve(&state, contact, &slot);
                let given_up = slot.given_up().map(ClientRefusal::given_up);
                if let Err(refusal) = given_up.map_or(result, Err) {
                    state.send_refused(peer, refusal);
                }
            });
        match session {
            Ok(session) => self.sessions.push(session),
            Err(cause) => {
                let refusal = ClientRefusal::host(format_args!("no thread for it: {cause}"));
                self.state.send_refused(peer, refusal);
            }
        }
    }

    /// The socket of one flow, with the limit on what it may send.
    fn open_socket(
        &mut self,
        local: SocketAddr,
        peer: SocketAddr,
    ) -> io::Result<(UdpSocket, Arc<AntiAmplificationLimit>)> {
        let (socket, limit) =
            reply_udp_socket(local, peer, 0, self.state.options.device.as_deref())?.into_limited();
        self.take_early(&socket, local.ip());
        let state_options = &self.state.options;
        let bytes = state_options.window.unwrap_or(UDP_BUFFER);
        let force = state_options.window.is_none();
        let _ = buffers::set_receive_buffer(&socket, bytes, force);
        let _ = buffers::set_send_buffer(&socket, bytes, force);
        udp::enable_gro(&socket);
        let _ = udp::enable_receive_timestamps(&socket);
        if let Some(tos) = state_options.tos {
            let _ = options::set_tos(&socket, tos);
        }
        if let IpAddr::V4(group) = local.ip()
            && group.is_multicast()
        {
            // The groups of the listening socket reach this one as well, unless the kernel wants each socket to join.
            let _ = SockRef::from(&socket).join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED);
        }
        Ok((socket, limit))
    }
}

impl UdpAcceptor {
    /// Takes what arrived at the socket of a flow between its binding and its connecting, which may belong to any client.
    fn take_early(&mut self, socket: &UdpSocket, local: IpAddr) {
        let mut buffer = vec![0; 65_536];
        if socket.set_nonblocking(true).is_err() {
            return;
        }
        for _ in 0..MAX_PER_ROUND {
            let Ok((size, peer)) = socket.recv_from(&mut buffer) else {
                break;
            };
            let datagram = buffer.get(..size).unwrap_or_default().to_vec();
            self.early.push_back((datagram, canonical(peer), local));
        }
        // The session's reads wait.
        let _ = socket.set_nonblocking(false);
    }
}

const fn unspecified(peer: SocketAddr) -> IpAddr {
    match peer {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}
