//! The reflector: sends each packet back as long as it came, with its own times.

use super::own_clock::OwnClock;
use super::rate_limit::SourceRates;
use super::reflector_options::{ReflectedCounts, ReflectorOptions};
use super::session_table::{SessionKey, StampSession, StampSessions};
use caudal_flow::RunError;
use caudal_sys::buffers;
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::options::bind_device;
use caudal_sys::timestamps::{enable_departures, transmit_stamp};
use caudal_sys::udp::{
    self, GroReceiver, PacketDestination, ReceivedBatch, ReplyMarks, Wait, send_marked_from,
};
use caudal_wire::stamp::{
    AnsweredExtension, ExtensionKind, FollowUp, MIN_BYTES, ReflectedStamp, ReflectionFacts,
    SENT_TTL, StampError, StampMode, TimestampFormat, TimestampMethod, decode_request, extensions,
    reflect_extensions, seal_reply, write_reply,
};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Packets that are received in one call.
const BATCH: usize = 32;
/// The receive buffer of the socket, bytes: some thousand packets.
const RECEIVE_BUFFER: usize = 4 << 20;
/// The time a receive may wait before it looks whether the reflector is stopped.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Ports below this are those of other services, which would answer an answer: packets from there get none, so that two reflectors never
/// keep one going between them.
const FIRST_USER_PORT: u16 = 1024;
/// Bytes of the fields of a reply of TWAMP-Light (RFC 5357 section 4.2.1).
const LIGHT_REPLY_BYTES: usize = 41;
/// Bytes from which on a packet has room for its number in the reply; a shorter one is numbered as it came.
const NUMBERED_BYTES: usize = 28;

/// A running reflector; stopped when dropped.
pub struct StampReflectorServer {
    local: SocketAddr,
    stop: Arc<AtomicBool>,
    counts: Arc<Mutex<ReflectedCounts>>,
    thread: Option<JoinHandle<()>>,
}

impl StampReflectorServer {
    /// Starts to answer.
    ///
    /// # Errors
    /// When the port is not available, or the kernel gives no thread.
    pub fn start(options: ReflectorOptions) -> Result<Self, RunError> {
        let wanted = format!("listening on UDP port {}", options.port);
        let socket = listen(&options).map_err(|cause| RunError::local(wanted, cause))?;
        let local = socket
            .local_addr()
            .map_err(|cause| RunError::local("reading a local address", cause))?;
        let (stop, counts) = (Arc::default(), Arc::default());
        let reflector = Reflector {
            rates: SourceRates::new(options.per_source),
            receives_by: receives_by(&socket),
            port: local.port(),
            socket,
            options,
            sessions: StampSessions::default(),
            clock: OwnClock::read(),
            socket_drops: 0,
            reply: Vec::new(),
            counts: ReflectedCounts::default(),
        };
        let receiver =
            GroReceiver::new(BATCH).map_err(|cause| RunError::local("mapping memory", cause))?;
        let (thread_stop, thread_counts) = (Arc::clone(&stop), Arc::clone(&counts));
        let thread = thread::Builder::new()
            .name("stamp".to_owned())
            .spawn(move || reflector.run(receiver, &thread_stop, &thread_counts))
            .map_err(|cause| RunError::local("starting a thread", cause))?;
        Ok(Self {
            local,
            stop,
            counts,
            thread: Some(thread),
        })
    }

    /// The address and port on which it listens.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// The counts so far, a twentieth of a second old at most.
    #[must_use]
    pub fn counts(&self) -> ReflectedCounts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops it: its counts.
    #[must_use]
    pub fn stop(mut self) -> ReflectedCounts {
        self.end();
        self.counts()
    }

    fn end(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for StampReflectorServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// The socket of a reflector, on IPv6 and IPv4 where it has no address.
fn listen(options: &ReflectorOptions) -> io::Result<UdpSocket> {
    let on = |address: IpAddr| {
        let mut local = SocketAddr::new(address, options.port);
        if let SocketAddr::V6(local) = &mut local {
            local.set_scope_id(options.scope_id);
        }
        let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
        if address == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            socket.set_only_v6(false)?;
        }
        if let Some(device) = &options.device {
            bind_device(&socket, device)?;
        }
        // Packets may come faster than this program is woken.
        let _ = buffers::set_receive_buffer(&socket, RECEIVE_BUFFER, true);
        socket.bind(&SockAddr::from(local))?;
        let socket = UdpSocket::from(socket);
        socket.set_read_timeout(Some(CHECK_INTERVAL))?;
        udp::enable_packet_info(&socket)?;
        udp::enable_receive_ttl(&socket)?;
        udp::enable_receive_tos(&socket)?;
        udp::set_ttl(&socket, SENT_TTL)?;
        let _ = udp::enable_drop_counter(&socket);
        Ok(socket)
    };
    match options.bind {
        Some(address) => on(address),
        None => on(Ipv6Addr::UNSPECIFIED.into()).or_else(|cause| match cause.raw_os_error() {
            Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) => on(Ipv4Addr::UNSPECIFIED.into()),
            _ => Err(cause),
        }),
    }
}

/// Has the kernel timestamp arrivals, where it does: who takes their time.
fn receives_by(socket: &UdpSocket) -> TimestampMethod {
    let _ = enable_departures(socket);
    match udp::enable_receive_timestamps(socket) {
        Ok(()) => TimestampMethod::Software,
        Err(_) => TimestampMethod::ControlPlane,
    }
}

/// The state of the thread.
struct Reflector {
    options: ReflectorOptions,
    socket: UdpSocket,
    port: u16,
    receives_by: TimestampMethod,
    rates: SourceRates,
    sessions: StampSessions,
    clock: OwnClock,
    /// The packets that the socket has dropped so far; wraps at 2³².
    socket_drops: u32,
    reply: Vec<u8>,
    counts: ReflectedCounts,
}

/// A packet with what the kernel tells of it.
struct ArrivedPacket<'p> {
    data: &'p [u8],
    source: SocketAddr,
    destination: PacketDestination,
    arrived_ns: u64,
    ttl: Option<u8>,
    tos: Option<u8>,
}

impl Reflector {
    fn run(
        mut self,
        mut receiver: GroReceiver,
        stop: &AtomicBool,
        counts: &Mutex<ReflectedCounts>,
    ) {
        while !stop.load(Relaxed) {
            match receiver.receive(&self.socket, Wait::ForOne) {
                Ok(_) => receiver.messages().for_each(|message| self.take(&message)),
                Err(cause)
                    if matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                // A report about an earlier packet, or the lack of memory.
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
            *counts.lock().unwrap_or_else(PoisonError::into_inner) = self.counts;
        }
    }

    /// Answers a packet, or counts why not.
    fn take(&mut self, message: &ReceivedBatch<'_>) {
        let now_ns = monotonic_ns();
        if let Some(drops) = message.socket_drops {
            let new = drops.wrapping_sub(self.socket_drops);
            self.socket_drops = drops;
            self.counts.not_read += u64::from(new);
        }
        let Some((source, destination)) = message.source.zip(message.destination) else {
            self.counts.malformed += 1;
            return;
        };
        let is_malformed = message.truncated || message.data.len() < MIN_BYTES;
        if is_malformed {
            self.counts.malformed += 1;
        } else if !self.is_allowed(source, destination.address) {
            self.counts.not_allowed += 1;
        } else if !self.rates.take(source.ip(), now_ns) {
            self.counts.over_rate += 1;
        } else {
            self.answer(
                &ArrivedPacket {
                    data: message.data,
                    source,
                    destination,
                    arrived_ns: message.kernel_time_ns.unwrap_or_else(realtime_ns),
                    ttl: message.ttl,
                    tos: message.tos,
                },
                now_ns,
            );
        }
    }

    /// `true` for a sender that is answered. Nothing is that was sent to many hosts.
    fn is_allowed(&self, source: SocketAddr, destination: IpAddr) -> bool {
        let networks = &self.options.allow;
        let address = source.ip().to_canonical();
        let is_of_service = source.port() < FIRST_USER_PORT || source.port() == self.port;
        let to_many = match destination.to_canonical() {
            IpAddr::V4(v4) => v4.is_multicast() || v4.is_broadcast(),
            IpAddr::V6(v6) => v6.is_multicast(),
        };
        !is_of_service
            && !to_many
            && (networks.is_empty() || networks.iter().any(|network| network.contains(address)))
    }

    fn answer(&mut self, packet: &ArrivedPacket<'_>, now_ns: u64) {
        let key = self.options.key.clone();
        let mode = key
            .as_ref()
            .map_or(StampMode::Open, StampMode::Authenticated);
        let request = match decode_request(packet.data, mode) {
            Ok(request) => request,
            Err(StampError::NotAuthentic) => {
                self.counts.not_authentic += 1;
                return;
            }
            Err(StampError::TooShort) => {
                self.counts.malformed += 1;
                return;
            }
        };
        let is_short = packet.data.len() < LIGHT_REPLY_BYTES;
        let is_completed = is_short && self.options.answers_short && key.is_none();
        let has_room = packet.data.len() >= NUMBERED_BYTES || is_completed;
        let is_numbered = !self.options.is_stateless && has_room;
        let session_key = SessionKey {
            source: packet.source,
            destination: packet.destination.address,
            ssid: request.ssid,
        };
        let mut session = match is_numbered {
            true => self.sessions.session(session_key, now_ns),
            false => None,
        };
        let sequence = match session.as_mut() {
            None => request.sequence,
            Some(session) => {
                session.received = session.received.wrapping_add(1);
                let number = session.replied;
                session.replied = number.wrapping_add(1);
                number
            }
        };
        let facts = facts(
            packet,
            session.as_deref(),
            &self.clock,
            self.receives_by,
            self.port,
        );
        self.reply.clear();
        self.reply.extend_from_slice(packet.data);
        if is_completed {
            self.reply.resize(LIGHT_REPLY_BYTES, 0);
        }
        let fixed = mode.fixed_bytes();
        let mut tos = None;
        let mut asks_for_departure = false;
        if let Some(after) = self
            .reply
            .get_mut(fixed..)
            .filter(|after| !after.is_empty())
        {
            let is_follow_up =
                |one: AnsweredExtension<'_>| one.kind() == Some(ExtensionKind::FollowUpTelemetry);
            asks_for_departure = session.is_some() && extensions(after).any(is_follow_up);
            tos = reflect_extensions(after, (request.sequence, sequence), key.as_ref(), &facts);
        }
        let reflected = ReflectedStamp {
            sequence,
            timestamp: [0; 8],
            format: TimestampFormat::Ntp,
            error: Some(self.clock.estimate()),
            received: Some(TimestampFormat::Ntp.encode(packet.arrived_ns)),
            sender_sequence: None,
            sender_timestamp: None,
            sender_ttl: packet.ttl,
        };
        write_reply(&request, &reflected, mode, &mut self.reply);
        let sealed_ns = realtime_ns();
        seal_reply(
            TimestampFormat::Ntp.encode(sealed_ns),
            mode,
            &mut self.reply,
        );
        let marks = ReplyMarks {
            tos,
            is_stamped: asks_for_departure,
        };
        let sent = send_marked_from(
            &self.socket,
            &self.reply,
            Some(packet.destination),
            packet.source,
            marks,
        );
        if sent.is_err() {
            self.counts.not_sent += 1;
            return;
        }
        self.counts.answered += 1;
        if asks_for_departure && let Some(session) = session {
            // One of a reply before, which waited in a queue, is none of this one.
            let departed_ns = transmit_stamp(&self.socket).filter(|at_ns| *at_ns >= sealed_ns);
            session.follow_up = departed_ns.map(|at_ns| FollowUp {
                sequence,
                timestamp: TimestampFormat::Ntp.encode(at_ns),
                method: Some(TimestampMethod::Software),
            });
        }
    }
}

/// What the reflector knows of a packet.
fn facts(
    packet: &ArrivedPacket<'_>,
    session: Option<&StampSession>,
    clock: &OwnClock,
    received_by: TimestampMethod,
    port: u16,
) -> ReflectionFacts {
    ReflectionFacts {
        source: SocketAddr::new(packet.source.ip().to_canonical(), packet.source.port()),
        destination: packet.destination.socket_address(port),
        tos: packet.tos,
        counts: session.map(|session| (session.received, session.replied)),
        time_source: clock.source(),
        received_by,
        follow_up: session.and_then(|session| session.follow_up),
    }
}
