//! The far side: every connection is a test of its own, and what its first bytes ask is what it gets,
//! within limits.

use super::attend::{Watch, attend};
use super::leg::{Carry, Leg, LegInfo, Opened};
use super::tcp::{self, await_close, block};
use super::udp::{self, Ending, Received, Strays};
use super::{Event, Tell};
use crate::allow::Network;
use crate::bell::{Bell, Ringer};
use crate::carrier::Link;
use crate::error::RunError;
use crate::guests::{Guest, Guests};
use crate::socket::{self, Origin, UDP_BUFFER, answer_udp, plain};
use caudal_core::sample::Role;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::signal::poll_readable;
use caudal_sys::{buffers, interface, options as flags, tcp as kernel, udp as datagrams};
use caudal_wire::iperf2::{
    Ack, Amount, BOUNCEBACK, Bounceback, First, LONGEST_HEADER, Layout, Opening, TestHeader,
    VERSION, Way,
};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a connection may take to say what it wants.
const INTRODUCTION: Duration = Duration::from_secs(10);
/// How long a proof of an address holds, ns.
const PROOF_NS: u64 = 600_000_000_000;
/// Proofs that are kept at most.
const MOST_PROOFS: usize = 4096;
/// Datagrams kept for a flow whose own socket is not there yet.
const MOST_STRAYS: usize = 1024;
/// How long a flow of UDP may be silent when it has hardly begun: its address may be made up.
const SPEECHLESS: Duration = Duration::from_secs(15);
/// The largest block or datagram a client may ask for, bytes.
const LARGEST_BLOCK: u32 = 1 << 20;
/// Rate of UDP unless said otherwise, bit/s.
const UDP_RATE: u64 = 1 << 20;
/// Connections that have not said what they want, at most.
const MOST_UNDECIDED: usize = 512;
/// How often it is said that datagrams are turned away, ns: their number is the sender's to choose.
const TURNED_AWAY_NS: u64 = 1_000_000_000;
const STACK: usize = 256 << 10;

/// How a server is to behave.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The address to listen on; `None` for all.
    pub bind: Option<IpAddr>,
    /// Without an address: whether IPv6 as well as IPv4.
    pub v6: bool,
    /// The interface to listen on.
    pub device: Option<String>,
    /// The port; 0 lets the kernel choose.
    pub port: u16,
    /// Whether to listen on TCP.
    pub tcp: bool,
    /// Whether to listen on UDP.
    pub udp: bool,
    /// How often to report.
    pub interval: Option<Duration>,
    /// Bytes to read at once.
    pub length: Option<usize>,
    /// Socket buffers.
    pub window: Option<usize>,
    /// Largest segment.
    pub mss: Option<u32>,
    /// Whether Nagle's algorithm is off.
    pub no_delay: bool,
    /// The TOS byte.
    pub tos: Option<u8>,
    /// Congestion control of what is sent.
    pub congestion: Option<String>,
    /// The most one test may send, bit/s.
    pub max_rate: Option<u64>,
    /// The longest one test may take.
    pub max_time: Option<Duration>,
    /// How long a client may do nothing.
    pub idle: Duration,
    /// Whether to connect back to clients that ask for it (`-d`, `-r`).
    pub connect_back: bool,
    /// Networks whose UDP clients are sent to at their word.
    pub trust: Vec<Network>,
    /// Multicast groups to join, with the one source to hear, where there is one.
    pub groups: Vec<(IpAddr, Option<IpAddr>)>,
    /// Whether reads are counted by size.
    pub distribution: bool,
    /// One client at a time.
    pub serial: bool,
    /// Whether received payload is dropped in the kernel.
    pub discard: bool,
    /// The number before that of the first connection.
    pub first_number: u32,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            bind: None,
            v6: true,
            device: None,
            port: caudal_wire::iperf2::PORT,
            tcp: true,
            udp: true,
            interval: None,
            length: None,
            window: None,
            mss: None,
            no_delay: false,
            tos: None,
            congestion: None,
            max_rate: None,
            max_time: None,
            idle: Duration::from_secs(60),
            connect_back: true,
            trust: Vec::new(),
            groups: Vec::new(),
            distribution: false,
            serial: false,
            discard: false,
            first_number: 0,
        }
    }
}

struct House {
    options: ServerOptions,
    guests: Guests,
    tell: Tell,
    stop: Bell,
    stopping: AtomicBool,
    numbers: AtomicU32,
    groups: Mutex<HashMap<(IpAddr, bool), Group>>,
    group_numbers: AtomicU64,
    proofs: Mutex<HashMap<IpAddr, u64>>,
    /// Connections that have not said yet what they want.
    undecided: AtomicUsize,
}

struct Group {
    number: u64,
    members: u32,
    joined: u32,
    since_ns: u64,
}

impl House {
    fn trouble(&self, peer: Option<SocketAddr>, what: impl Into<String>) {
        (self.tell)(Event::Trouble {
            peer,
            what: what.into(),
        });
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// The group a connection belongs to: clients say how many connections they are.
    fn group(&self, peer: SocketAddr, udp: bool, members: u32) -> (u64, u32) {
        let fresh = || self.group_numbers.fetch_add(1, Ordering::Relaxed) + 1;
        if !(2..=4096).contains(&members) {
            return (fresh(), 1);
        }
        let now = monotonic_ns();
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|_, group| {
            group.joined < group.members && now - group.since_ns < 10_000_000_000
        });
        let group = groups.entry((peer.ip(), udp)).or_insert_with(|| Group {
            number: fresh(),
            members,
            joined: 0,
            since_ns: now,
        });
        group.joined += 1;
        (group.number, group.members)
    }

    fn prove(&self, address: IpAddr) {
        let now = monotonic_ns();
        let mut proofs = self.proofs.lock().unwrap_or_else(PoisonError::into_inner);
        if proofs.len() >= MOST_PROOFS {
            proofs.retain(|_, at| now - *at < PROOF_NS);
        }
        if proofs.len() < MOST_PROOFS {
            proofs.insert(address, now);
        }
    }

    /// Whether what is sent to this address arrives at who asked: it is this machine's own, or trusted, or
    /// has lately completed a handshake of TCP here.
    fn is_proven(&self, address: IpAddr) -> bool {
        let now = monotonic_ns();
        self.options
            .trust
            .iter()
            .any(|network| network.contains(address))
            || address.is_loopback()
            || interface::local_addresses()
                .iter()
                .any(|own| own.address == address)
            || self
                .proofs
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(&address)
                .is_some_and(|at| now - at < PROOF_NS)
    }

    fn rate(&self, asked: Option<u64>) -> Option<u64> {
        match (asked, self.options.max_rate) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        }
    }

    /// How long and how much a client asked for, within the limits.
    fn end(&self, amount: Amount) -> (Option<Duration>, Option<u64>) {
        let (time, bytes) = match amount {
            Amount::Hundredths(time) => (Some(Duration::from_millis(u64::from(time) * 10)), None),
            Amount::Bytes(0) => (None, None),
            Amount::Bytes(bytes) => (None, Some(u64::from(bytes))),
        };
        let time = match (time, self.options.max_time) {
            (Some(time), Some(most)) => Some(time.min(most)),
            (time, most) => time.or(most),
        };
        (time, bytes)
    }
}

/// A running server; stopped when dropped.
pub struct Server {
    house: Arc<House>,
    tcp: Option<SocketAddr>,
    udp: Option<SocketAddr>,
    buffers: (u32, u32),
    stop: Option<Ringer>,
    desks: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// When a port cannot be had, or a thread cannot be started.
    pub fn start(options: ServerOptions, guests: Guests, tell: Tell) -> Result<Self, RunError> {
        let place = |what: &str, port: u16| format!("listening on {what} port {port}");
        let pipe = |cause| RunError::local("opening a pipe", cause);
        let stop = Bell::new().map_err(pipe)?;
        let ringer = stop.ringer().map_err(pipe)?;
        let mut port = options.port;
        let mut tcp = None;
        let mut udp = None;
        // With port 0 the kernel's choice for TCP need not be free for UDP.
        for attempt in 0.. {
            tcp = match options.tcp {
                true => Some(
                    listen_tcp(&options, port)
                        .map_err(|cause| RunError::local(place("TCP", port), cause))?,
                ),
                false => None,
            };
            if let (0, Some(Ok(local))) = (port, tcp.as_ref().map(TcpListener::local_addr)) {
                port = local.port();
            }
            udp = match options.udp {
                true => match listen_udp(&options, port) {
                    Ok(udp) => Some(udp),
                    Err(_) if options.port == 0 && attempt < 16 => {
                        port = 0;
                        continue;
                    }
                    Err(cause) => return Err(RunError::local(place("UDP", port), cause)),
                },
                false => None,
            };
            break;
        }
        let local_tcp = tcp.as_ref().and_then(|tcp| tcp.local_addr().ok());
        let local_udp = udp.as_ref().and_then(|udp| udp.local_addr().ok());
        let granted = |socket: Option<BorrowedFd<'_>>| {
            socket.map_or(0, |socket| buffers::receive_buffer(socket).unwrap_or(0))
        };
        let granted = (
            granted(tcp.as_ref().map(AsFd::as_fd)),
            granted(udp.as_ref().map(AsFd::as_fd)),
        );
        let house = Arc::new(House {
            numbers: AtomicU32::new(options.first_number),
            options,
            guests,
            tell,
            stop,
            stopping: AtomicBool::new(false),
            groups: Mutex::default(),
            group_numbers: AtomicU64::new(0),
            proofs: Mutex::default(),
            undecided: AtomicUsize::new(0),
        });
        let mut desks = Vec::new();
        let start = |name: &str, desk: Box<dyn FnOnce() + Send>| {
            thread::Builder::new()
                .name(name.to_owned())
                .spawn(desk)
                .map_err(|cause| RunError::local("starting a thread", cause))
        };
        if let Some(tcp) = tcp {
            let house = Arc::clone(&house);
            desks.push(start(
                "iperf tcp",
                Box::new(move || desk_tcp(&house, &tcp)),
            )?);
        }
        if let Some(udp) = udp {
            let house = Arc::clone(&house);
            desks.push(start(
                "iperf udp",
                Box::new(move || desk_udp(&house, &udp)),
            )?);
        }
        Ok(Self {
            house,
            tcp: local_tcp,
            udp: local_udp,
            buffers: granted,
            stop: Some(ringer),
            desks,
        })
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.tcp.or(self.udp).map_or(0, |local| local.port())
    }

    /// The receive buffers of the listening sockets, TCP and UDP, bytes.
    #[must_use]
    pub const fn receive_buffers(&self) -> (u32, u32) {
        self.buffers
    }

    /// Ends running tests, and waits for them for a moment.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.house.stopping.store(true, Ordering::Relaxed);
        if let Some(mut stop) = self.stop.take() {
            stop.ring();
        }
        for desk in self.desks.drain(..) {
            let _ = desk.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn place(options: &ServerOptions, port: u16) -> (Domain, SocketAddr) {
    let address = options.bind.unwrap_or(if options.v6 {
        Ipv6Addr::UNSPECIFIED.into()
    } else {
        Ipv4Addr::UNSPECIFIED.into()
    });
    let local = SocketAddr::new(address, port);
    (Domain::for_address(local), local)
}

fn prepare(socket: &Socket, options: &ServerOptions, local: SocketAddr) -> io::Result<()> {
    if local.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    if let Some(device) = &options.device {
        flags::bind_device(socket, device)?;
    }
    if let Some(tos) = options.tos {
        set_tos(socket, local.is_ipv6(), tos)?;
    }
    Ok(())
}

/// A socket on all addresses; on a host without IPv6 on those of IPv4.
fn on_all<T>(
    options: &ServerOptions,
    listen: impl Fn(&ServerOptions) -> io::Result<T>,
) -> io::Result<T> {
    listen(options).or_else(|cause| match cause.raw_os_error() {
        Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL) if options.bind.is_none() && options.v6 => {
            listen(&ServerOptions {
                v6: false,
                ..options.clone()
            })
        }
        _ => Err(cause),
    })
}

fn listen_tcp(options: &ServerOptions, port: u16) -> io::Result<TcpListener> {
    on_all(options, |options| {
        let (domain, local) = place(options, port);
        let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        prepare(&socket, options, local)?;
        socket.set_reuse_address(true)?;
        if let Some(window) = options.window {
            buffers::set_receive_buffer(&socket, window, false)?;
            buffers::set_send_buffer(&socket, window, false)?;
        }
        if let Some(mss) = options.mss {
            kernel::set_max_segment(&socket, mss)?;
        }
        if let Some(name) = &options.congestion {
            kernel::set_congestion(&socket, name)?;
        }
        socket.bind(&SockAddr::from(local))?;
        socket.listen(1024)?;
        Ok(socket.into())
    })
}

fn listen_udp(options: &ServerOptions, port: u16) -> io::Result<UdpSocket> {
    on_all(options, |options| {
        let (domain, local) = place(options, port);
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        prepare(&socket, options, local)?;
        if let Some(window) = options.window {
            buffers::set_receive_buffer(&socket, window, false)?;
        }
        let is_group = options.bind.is_some_and(|bind| bind.is_multicast());
        if is_group {
            flags::set_reuse(&socket)?;
        }
        socket.bind(&SockAddr::from(local))?;
        // A server that already listens here must be noticed: reuse comes after binding.
        flags::set_reuse(&socket)?;
        datagrams::enable_packet_info(&socket, local.is_ipv6())?;
        for (group, source) in &options.groups {
            match (group, source) {
                (IpAddr::V4(group), None) => {
                    socket.join_multicast_v4(group, &Ipv4Addr::UNSPECIFIED)?;
                }
                (IpAddr::V4(group), Some(IpAddr::V4(source))) => {
                    socket.join_ssm_v4(source, group, &Ipv4Addr::UNSPECIFIED)?;
                }
                (IpAddr::V6(group), None) => socket.join_multicast_v6(group, 0)?,
                _ => return Err(io::ErrorKind::Unsupported.into()),
            }
        }
        Ok(socket.into())
    })
}

pub(super) fn set_tos(socket: impl AsFd, v6: bool, tos: u8) -> io::Result<()> {
    let socket = SockRef::from(&socket);
    if v6 {
        socket.set_tclass_v6(u32::from(tos))?;
        let _ = socket.set_tos_v4(u32::from(tos));
        return Ok(());
    }
    socket.set_tos_v4(u32::from(tos))
}

fn reap(sessions: &mut Vec<JoinHandle<()>>) {
    let mut nth = 0;
    while nth < sessions.len() {
        if sessions[nth].is_finished() {
            let _ = sessions.swap_remove(nth).join();
        } else {
            nth += 1;
        }
    }
}

/// Waits for the sessions of a server that is stopped, for a moment.
fn see_out(sessions: &mut Vec<JoinHandle<()>>) {
    let until = monotonic_ns() + 3_000_000_000;
    while !sessions.is_empty() && monotonic_ns() < until {
        reap(sessions);
        sleep_until(monotonic_ns() + 1_000_000);
    }
}

fn wait(house: &House, fd: BorrowedFd<'_>) -> bool {
    let wait = Some(Duration::from_millis(500));
    match poll_readable(&[fd, house.stop.fd()], wait) {
        Ok(ready) => ready.first().copied().unwrap_or(false),
        Err(_) => {
            sleep_until(monotonic_ns() + 10_000_000);
            false
        }
    }
}

fn desk_tcp(house: &Arc<House>, listener: &TcpListener) {
    let _ = listener.set_nonblocking(true);
    let mut sessions = Vec::new();
    while !house.is_stopping() {
        if house.options.serial && !sessions.is_empty() {
            sleep_until(monotonic_ns() + 5_000_000);
            reap(&mut sessions);
            continue;
        }
        if wait(house, listener.as_fd()) {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let peer = plain(peer);
                    if let Err(why) = house.guests.may_enter(peer.ip()) {
                        house.trouble(Some(peer), why);
                        continue;
                    }
                    // Whoever has not said what it wants has no place yet, and cannot keep others out of one.
                    if house.undecided.load(Ordering::Relaxed) >= MOST_UNDECIDED {
                        house.trouble(Some(peer), "too many say nothing");
                        continue;
                    }
                    house.undecided.fetch_add(1, Ordering::Relaxed);
                    let inside = Arc::clone(house);
                    let session = thread::Builder::new()
                        .name("iperf client".to_owned())
                        .stack_size(STACK)
                        .spawn(move || {
                            if let Err(why) = serve_tcp(&inside, stream, peer) {
                                inside.trouble(Some(peer), why);
                            }
                        });
                    match session {
                        Ok(session) => sessions.push(session),
                        Err(cause) => {
                            house.undecided.fetch_sub(1, Ordering::Relaxed);
                            house.trouble(Some(peer), format!("no thread for it: {cause}"));
                        }
                    }
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => sleep_until(monotonic_ns() + 5_000_000),
            }
        }
        reap(&mut sessions);
    }
    see_out(&mut sessions);
}

/// Reads what a connection begins with; nothing when it ended without a word.
fn read_opening(house: &House, stream: &TcpStream) -> Result<Option<(Opening, Vec<u8>)>, String> {
    let until = monotonic_ns() + INTRODUCTION.as_nanos() as u64;
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        match Opening::of(&bytes).map_err(|error| error.to_string())? {
            Opening::Needs(needed) => {
                let mut room = [0; LONGEST_HEADER];
                let wanted = needed.saturating_sub(bytes.len()).clamp(1, room.len());
                let left = Duration::from_nanos(until.saturating_sub(monotonic_ns()));
                let ready = poll_readable(&[stream.as_fd(), house.stop.fd()], Some(left))
                    .map_err(|cause| cause.to_string())?;
                if ready.get(1).copied().unwrap_or(false) {
                    return Ok(None);
                }
                if !ready.contains(&true) {
                    return Err(format!(
                        "it did not say what it wants within {} s",
                        INTRODUCTION.as_secs()
                    ));
                }
                let mut stream = stream;
                match stream.read(&mut room[..wanted]) {
                    Ok(0) if bytes.is_empty() => return Ok(None),
                    // Too little for a header: then it is payload.
                    Ok(0) => return Ok(Some((Opening::Payload, bytes))),
                    Ok(count) => bytes.extend_from_slice(&room[..count]),
                    Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) if bytes.is_empty() => return Ok(None),
                    Err(cause) => return Err(cause.to_string()),
                }
            }
            other => return Ok(Some((other, bytes))),
        }
    }
}

pub(super) fn opened(stream: &TcpStream) -> Option<Opened> {
    let info = kernel::tcp_info(stream).ok()?;
    Some(Opened {
        cwnd_bytes: u64::from(info.snd_cwnd) * u64::from(info.snd_mss),
        mss: info.snd_mss,
        rtt_us: info.rtt_us,
    })
}

fn serve_tcp(house: &Arc<House>, stream: TcpStream, peer: SocketAddr) -> Result<(), String> {
    let said = |cause: io::Error| cause.to_string();
    let _ = stream.set_nonblocking(false);
    let first_state = opened(&stream);
    let read = read_opening(house, &stream);
    house.undecided.fetch_sub(1, Ordering::Relaxed);
    let Some((opening, bytes)) = read? else {
        return Ok(());
    };
    let _guest: Guest = house.guests.admit(peer.ip())?;
    house.prove(peer.ip());
    let start_ns = monotonic_ns();
    // A peer that vanishes is noticed; a kernel without the option waits longer.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(Duration::from_secs(30)));
    if house.options.no_delay {
        let _ = stream.set_nodelay(true);
    }
    let header = match &opening {
        Opening::Test(header, _) => Some(*header),
        _ => None,
    };
    let local = plain(stream.local_addr().map_err(said)?);
    let (group, members) = house.group(peer, false, header.map_or(1, |header| header.threads));
    let way = header.map_or(Way::Up, |header| header.way);
    let extended = header.and_then(|header| header.extended);
    let mut info = LegInfo {
        number: house.numbers.fetch_add(1, Ordering::Relaxed) + 1,
        role: if way == Way::Reverse {
            Role::Sender
        } else {
            Role::Receiver
        },
        back: false,
        udp: false,
        local,
        peer,
        way,
        group,
        members,
        socket: stream.as_raw_fd(),
        version: extended.and_then(|extended| extended.version_text()),
        connecting: None,
        opened: first_state,
        no_udp_fin: false,
        trip_times: extended.is_some_and(|extended| extended.trip_times),
        tos: house.options.tos.unwrap_or(0),
    };
    (house.tell)(Event::Connected(Arc::new(info.clone())));
    if let Some(header) = header
        && header.is_answered()
    {
        let now = super::wall();
        let times = info.trip_times.then(|| [now, now, super::wall()]);
        let ack = Ack {
            version: VERSION,
            times,
        };
        let mut stream = &stream;
        let _ = stream.write_all(&ack.encode());
    }
    let mut bell = Bell::new().map_err(said)?;
    let base = bytes.len() as u64;
    let link = Arc::new(Link::Tcp(stream));
    let mut legs = Vec::new();
    let (time, amount) = header.map_or((house.options.max_time, None), |header| {
        house.end(header.amount)
    });
    let length = header.map_or(0, |header| header.length).min(LARGEST_BLOCK);
    let length = match length {
        0 => house.options.length.unwrap_or(128 << 10),
        length => length as usize,
    };
    let rate = house.rate(
        extended
            .map(|extended| extended.rate)
            .filter(|rate| *rate > 0),
    );
    if let Opening::Bounceback = opening {
        let leg = Leg::start(
            info,
            Arc::clone(&link),
            base,
            start_ns,
            bell.ringer().map_err(said)?,
            move |work| match &*work.link {
                Link::Tcp(stream) => bounce(stream, bytes, work),
                Link::Udp(_) => Ok(()),
            },
        );
        legs.push(leg.map_err(said)?);
    } else {
        if way != Way::Reverse {
            let (distribution, discard) = (house.options.distribution, house.options.discard);
            let read = house.options.length.unwrap_or(128 << 10);
            let link = Arc::clone(&link);
            let leg = Leg::start(
                info.clone(),
                link,
                base,
                start_ns,
                bell.ringer().map_err(said)?,
                move |work| match &*work.link {
                    Link::Tcp(stream) => tcp::receive(stream, read, distribution, discard, work),
                    Link::Udp(_) => Ok(()),
                },
            );
            legs.push(leg.map_err(said)?);
        }
        if matches!(way, Way::Reverse | Way::FullDuplex) {
            info.role = Role::Sender;
            info.back = way == Way::FullDuplex;
            if let (Link::Tcp(stream), Some(extended)) = (&*link, extended)
                && extended.tos != 0
            {
                let _ = set_tos(
                    stream,
                    stream.local_addr().is_ok_and(|at| at.is_ipv6()),
                    extended.tos as u8,
                );
            }
            let sending = tcp::Sending {
                payload: block(length),
                length,
                rate,
                bytes: amount,
                bursts: info.trip_times,
                alone: way == Way::Reverse,
            };
            let leg = Leg::start(
                info,
                Arc::clone(&link),
                0,
                start_ns,
                bell.ringer().map_err(said)?,
                move |work| match &*work.link {
                    Link::Tcp(stream) => tcp::send(stream, sending, work),
                    Link::Udp(_) => Ok(()),
                },
            );
            legs.push(leg.map_err(said)?);
        }
        if way == Way::Dual
            && let Some(header) = header
            && let Some(leg) = connect_back(
                house,
                &header,
                peer,
                local,
                &bell,
                group,
                Received::Bytes(u64::MAX),
                None,
            )
        {
            legs.push(leg);
        }
    }
    let failure = run(house, &mut legs, &mut bell, time);
    if way == Way::FullDuplex
        && let Link::Tcp(stream) = &*link
    {
        await_close(stream);
    }
    drop(legs);
    drop(link);
    if way == Way::Tradeoff
        && !house.is_stopping()
        && let Some(header) = header
        && let Some(leg) = connect_back(
            house,
            &header,
            peer,
            local,
            &bell,
            group,
            Received::Bytes(u64::MAX),
            None,
        )
    {
        let mut legs = vec![leg];
        let (time, _) = house.end(header.amount);
        run(house, &mut legs, &mut bell, time);
    }
    match failure {
        Some(why) if !house.is_stopping() => Err(why),
        _ => Ok(()),
    }
}

/// Watches over a test; why it ended early, if it did.
fn run(
    house: &Arc<House>,
    legs: &mut [Leg],
    bell: &mut Bell,
    time: Option<Duration>,
) -> Option<String> {
    let start = monotonic_ns();
    let ns = |time: Duration| {
        u64::try_from(time.as_nanos())
            .unwrap_or(u64::MAX / 4)
            .min(u64::MAX / 4)
    };
    let stop = [house.stop.fd()];
    let watch = Watch {
        tell: &house.tell,
        interval: house.options.interval,
        stop_ns: time.map(|time| start.saturating_add(ns(time))),
        end_ns: house
            .options
            .max_time
            .map(|most| start.saturating_add(ns(most)).saturating_add(2_000_000_000)),
        idle: Some(house.options.idle),
        stop: &stop,
    };
    let (_, why) = attend(legs, bell, &watch);
    why.or_else(|| legs.iter().find_map(|leg| leg.failure.clone()))
}

/// Sends requests back as they come.
fn bounce(stream: &TcpStream, mut request: Vec<u8>, work: &super::leg::Work) -> io::Result<()> {
    let mut stream = stream;
    let _ = stream.set_nodelay(true);
    let mut moved = 0;
    let mut calls = 0;
    loop {
        let before = request.len();
        request.resize(BOUNCEBACK.max(before), 0);
        if let Err(cause) = stream.read_exact(&mut request[before..]) {
            return match cause.kind() {
                io::ErrorKind::UnexpectedEof => Ok(()),
                _ if work.orders.stopped() => Ok(()),
                _ => Err(cause),
            };
        }
        let Some(head) = Bounceback::decode(&request) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a request of a size that is not served (64 B to 1 MiB)",
            ));
        };
        let received = super::wall();
        request.resize(head.size as usize, 0);
        stream.read_exact(&mut request[BOUNCEBACK..])?;
        if head.hold_us > 0 {
            sleep_until(monotonic_ns() + u64::from(head.hold_us.min(1_000_000)) * 1000);
        }
        if head.stop {
            return Ok(());
        }
        request.resize(head.reply as usize, 0);
        Bounceback::stamp(&mut request, received, super::wall());
        if head.quick_ack {
            let _ = kernel::set_quickack(stream, true);
        }
        stream.write_all(&request)?;
        moved += u64::from(head.size) + u64::from(head.reply);
        calls += 2;
        work.counters.bytes.store(moved, Ordering::Relaxed);
        work.counters.calls.store(calls, Ordering::Relaxed);
        request.clear();
    }
}

/// Connects to the client's own address, at the port it listens on, and begins to send.
#[expect(
    clippy::too_many_arguments,
    reason = "they are one call's, made in four places"
)]
fn connect_back(
    house: &Arc<House>,
    header: &TestHeader,
    peer: SocketAddr,
    local: SocketAddr,
    bell: &Bell,
    group: u64,
    limit: Received,
    udp_layout: Option<Layout>,
) -> Option<Leg> {
    if !house.options.connect_back {
        house.trouble(
            Some(peer),
            "it asks to be connected to, which this server is told not to do",
        );
        return None;
    }
    // The ports below belong to a host's services: no client listens there.
    let Some(port) = u16::try_from(header.port).ok().filter(|port| *port >= 1024) else {
        house.trouble(
            Some(peer),
            format!("it asks to be connected to at port {}", header.port),
        );
        return None;
    };
    let to = SocketAddr::new(peer.ip(), port);
    let made = back_leg(house, header, to, local, bell, group, limit, udp_layout);
    match made {
        Ok(leg) => Some(leg),
        Err(why) => {
            house.trouble(Some(to), why);
            None
        }
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "they are those of connecting back"
)]
fn back_leg(
    house: &Arc<House>,
    header: &TestHeader,
    to: SocketAddr,
    local: SocketAddr,
    bell: &Bell,
    group: u64,
    limit: Received,
    udp_layout: Option<Layout>,
) -> Result<Leg, String> {
    let origin = Origin {
        address: Some(local.ip()),
        device: None,
    };
    let origin = if local.ip().is_unspecified() || local.ip().is_multicast() {
        Origin::default()
    } else {
        origin
    };
    let (_, bytes) = house.end(header.amount);
    let ringer = bell.ringer().map_err(|cause| cause.to_string())?;
    let asked = header
        .extended
        .map(|extended| extended.rate)
        .filter(|rate| *rate > 0);
    let mut info = LegInfo {
        number: house.numbers.fetch_add(1, Ordering::Relaxed) + 1,
        role: Role::Sender,
        back: true,
        udp: udp_layout.is_some(),
        local,
        peer: to,
        way: Way::Reverse,
        group,
        members: 1,
        socket: 0,
        version: None,
        connecting: None,
        opened: None,
        no_udp_fin: false,
        trip_times: false,
        tos: 0,
    };
    let start = |info: LegInfo, link: Link, carry: Carry| {
        (house.tell)(Event::Connected(Arc::new(info.clone())));
        Leg::start(info, Arc::new(link), 0, monotonic_ns(), ringer, carry)
            .map_err(|cause| cause.to_string())
    };
    if let Some(layout) = udp_layout {
        let old = match header.window_or_rate {
            0 => UDP_RATE,
            rate => u64::from(rate),
        };
        let rate = house.rate(asked.or(Some(old)));
        let length = match header.length {
            0 => 1470,
            length => length.min(65_507) as usize,
        };
        let socket = UdpSocket::bind(SocketAddr::new(
            origin.address.unwrap_or(match to {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            }),
            0,
        ))
        .and_then(|socket| socket.connect(to).map(|()| socket))
        .map_err(|cause| format!("cannot connect back: {cause}"))?;
        (house.tell)(Event::ConnectingBack {
            peer: to,
            udp: true,
            length: length as u32,
            rate: rate.unwrap_or(0),
            buffer: buffers::send_buffer(&socket).unwrap_or(0),
        });
        info.local = socket.local_addr().map_or(local, plain);
        info.socket = socket.as_raw_fd();
        let sending = udp::Sending {
            layout,
            header: Vec::new(),
            length,
            rate,
            bytes,
            first: i64::from(layout != Layout::Twelve),
            end: Ending::Answered,
            no_more_than: match limit {
                Received::Bytes(u64::MAX) => None,
                other => Some(other),
            },
            payload: None,
        };
        return start(
            info,
            Link::Udp(socket),
            Box::new(move |work| match &*work.link {
                Link::Udp(socket) => udp::send(socket, &sending, work),
                Link::Tcp(_) => Ok(()),
            }),
        );
    }
    let length = match header.length.min(LARGEST_BLOCK) {
        0 => 128 << 10,
        length => length as usize,
    };
    let rate = house.rate(asked);
    let stream = socket::connect(to, &origin, None)
        .map_err(|error| format!("cannot connect back: {error}"))?;
    (house.tell)(Event::ConnectingBack {
        peer: to,
        udp: false,
        length: length as u32,
        rate: rate.unwrap_or(0),
        buffer: buffers::send_buffer(&stream).unwrap_or(0),
    });
    info.local = stream.local_addr().map_or(local, plain);
    info.socket = stream.as_raw_fd();
    info.opened = opened(&stream);
    let sending = tcp::Sending {
        payload: block(length),
        length,
        rate,
        bytes,
        bursts: false,
        alone: true,
    };
    start(
        info,
        Link::Tcp(stream),
        Box::new(move |work| match &*work.link {
            Link::Tcp(stream) => tcp::send(stream, sending, work),
            Link::Udp(_) => Ok(()),
        }),
    )
}

struct Known {
    strays: Strays,
    over: Arc<AtomicBool>,
}

fn desk_udp(house: &Arc<House>, udp: &UdpSocket) {
    let _ = udp.set_nonblocking(true);
    let port = udp.local_addr().map_or(0, |local| local.port());
    let mut sessions = Vec::new();
    let mut known: HashMap<SocketAddr, Known> = HashMap::new();
    let mut buffer = vec![0; 65_536];
    let mut said_ns = 0;
    while !house.is_stopping() {
        if wait(house, udp.as_fd()) {
            // A bound on one round, so that a flood does not keep a stop from being seen.
            for _ in 0..256 {
                let Ok((size, peer, local)) = datagrams::receive_with_destination(udp, &mut buffer)
                else {
                    break;
                };
                let arrived = caudal_sys::clock::realtime_ns();
                let peer = plain(peer);
                let datagram = &buffer[..size.min(buffer.len())];
                if let Some(flow) = known.get(&peer)
                    && !flow.over.load(Ordering::Relaxed)
                {
                    let mut strays = flow.strays.lock().unwrap_or_else(PoisonError::into_inner);
                    if strays.len() < MOST_STRAYS {
                        strays.push((datagram.to_vec(), arrived));
                    }
                    continue;
                }
                let Some(first) = First::read(datagram).filter(|first| first.datagram.id >= 0)
                else {
                    continue;
                };
                if house.options.serial
                    && known
                        .values()
                        .any(|flow| !flow.over.load(Ordering::Relaxed))
                {
                    continue;
                }
                // Addresses that prove nothing may be made up: they leave half of the places to others.
                let flows = known
                    .values()
                    .filter(|flow| !flow.over.load(Ordering::Relaxed))
                    .count();
                let admitted =
                    if flows >= (house.guests.places() / 2).max(1) && !house.is_proven(peer.ip()) {
                        Err(
                            "half of all places are taken by UDP from addresses without proof"
                                .to_owned(),
                        )
                    } else {
                        house.guests.admit(peer.ip())
                    };
                let guest = match admitted {
                    Ok(guest) => guest,
                    Err(why) => {
                        if monotonic_ns() >= said_ns + TURNED_AWAY_NS {
                            said_ns = monotonic_ns();
                            house.trouble(Some(peer), why);
                        }
                        continue;
                    }
                };
                let any: IpAddr = match peer {
                    SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                    SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
                };
                let local = SocketAddr::new(local.map_or(any, |local| local.to_canonical()), port);
                let socket = match flow_socket(house, local, peer) {
                    Ok(socket) => socket,
                    Err(cause) => {
                        house.trouble(Some(peer), format!("no socket for it: {cause}"));
                        continue;
                    }
                };
                let strays: Strays = Arc::default();
                strays
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((datagram.to_vec(), arrived));
                let over = Arc::new(AtomicBool::new(false));
                known.retain(|_, flow| !flow.over.load(Ordering::Relaxed));
                known.insert(
                    peer,
                    Known {
                        strays: Arc::clone(&strays),
                        over: Arc::clone(&over),
                    },
                );
                let inside = Arc::clone(house);
                let failed = Arc::clone(&over);
                let session = thread::Builder::new()
                    .name("iperf client".to_owned())
                    .stack_size(STACK)
                    .spawn(move || {
                        let _guest: Guest = guest;
                        if let Err(why) = serve_udp(&inside, socket, local, peer, first, strays) {
                            inside.trouble(Some(peer), why);
                        }
                        over.store(true, Ordering::Relaxed);
                    });
                match session {
                    Ok(session) => sessions.push(session),
                    Err(cause) => {
                        failed.store(true, Ordering::Relaxed);
                        house.trouble(Some(peer), format!("no thread for it: {cause}"));
                    }
                }
            }
        }
        reap(&mut sessions);
    }
    see_out(&mut sessions);
}

fn flow_socket(house: &House, local: SocketAddr, peer: SocketAddr) -> io::Result<UdpSocket> {
    let socket = answer_udp(local, peer)?;
    let bytes = house.options.window.unwrap_or(UDP_BUFFER);
    let force = house.options.window.is_none();
    let _ = buffers::set_receive_buffer(&socket, bytes, force);
    let _ = buffers::set_send_buffer(&socket, bytes, force);
    datagrams::enable_gro(&socket);
    let _ = datagrams::enable_receive_timestamps(&socket);
    if let Some(tos) = house.options.tos {
        let _ = set_tos(&socket, peer.is_ipv6(), tos);
    }
    if local.ip().is_multicast()
        && let (IpAddr::V4(group), socket) = (local.ip(), SockRef::from(&socket))
    {
        // What the listening socket has joined reaches this one as well; where the kernel wants it said:
        let _ = socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED);
    }
    Ok(socket)
}

fn serve_udp(
    house: &Arc<House>,
    socket: UdpSocket,
    local: SocketAddr,
    peer: SocketAddr,
    first: First,
    strays: Strays,
) -> Result<(), String> {
    let said = |cause: io::Error| cause.to_string();
    let start_ns = monotonic_ns();
    let header = first.header;
    let extended = header.and_then(|header| header.extended);
    let way = header.map_or(Way::Up, |header| header.way);
    let (group, members) = house.group(peer, true, header.map_or(1, |header| header.threads));
    let is_group = local.ip().is_multicast();
    let mut info = LegInfo {
        number: house.numbers.fetch_add(1, Ordering::Relaxed) + 1,
        role: if way == Way::Reverse {
            Role::Sender
        } else {
            Role::Receiver
        },
        back: false,
        udp: true,
        local,
        peer,
        way,
        group,
        members,
        socket: socket.as_raw_fd(),
        version: extended.and_then(|extended| extended.version_text()),
        connecting: None,
        opened: None,
        no_udp_fin: matches!(way, Way::Reverse | Way::FullDuplex)
            || extended.is_some_and(|extended| extended.no_udp_fin),
        trip_times: extended.is_some_and(|extended| extended.trip_times),
        tos: house.options.tos.unwrap_or(0),
    };
    let proven = house.is_proven(peer.ip());
    if way == Way::Reverse && !proven {
        return Err(
            "it asks for UDP in reverse, and its address is not proven: let it run a TCP test first, or start \
             the server with --iperf2-trust for its network"
                .to_owned(),
        );
    }
    (house.tell)(Event::Connected(Arc::new(info.clone())));
    let mut bell = Bell::new().map_err(said)?;
    let (time, amount) = header.map_or((house.options.max_time, None), |header| {
        house.end(header.amount)
    });
    let rate = extended.map_or(Some(UDP_RATE), |extended| {
        Some(extended.rate).filter(|rate| *rate > 0)
    });
    let rate = house.rate(rate);
    let length = match header.map_or(0, |header| header.length) {
        0 if peer.is_ipv6() => 1450,
        0 => 1470,
        length => length.min(65_507) as usize,
    };
    let link = Arc::new(Link::Udp(socket));
    let mut legs = Vec::new();
    let mut received = None;
    if way != Way::Reverse {
        let base = i64::from(first.layout != Layout::Twelve);
        // Numbers that begin elsewhere belong to a flow that was there before.
        let base = if first.datagram.id > 1000 {
            first.datagram.id
        } else {
            base.min(first.datagram.id)
        };
        let receiving = udp::Receiving {
            layout: first.layout,
            wide: first.wide,
            first: base,
            strays: Some(strays),
            answer: !info.no_udp_fin && !is_group,
            times: info.trip_times || house.options.distribution,
            request: None,
            ends_itself: false,
            most_ns: None,
        };
        let leg = Leg::start(
            info.clone(),
            Arc::clone(&link),
            0,
            start_ns,
            bell.ringer().map_err(said)?,
            move |work| match &*work.link {
                Link::Udp(socket) => udp::receive(socket, &receiving, work),
                Link::Tcp(_) => Ok(()),
            },
        )
        .map_err(said)?;
        received = Some(Received::Counted(Arc::clone(&leg.counters)));
        legs.push(leg);
    }
    let limit = if proven {
        Received::Bytes(u64::MAX)
    } else {
        received.unwrap_or(Received::Bytes(0))
    };
    if matches!(way, Way::Reverse | Way::FullDuplex) {
        info.role = Role::Sender;
        info.back = way == Way::FullDuplex;
        let sending = udp::Sending {
            layout: first.layout,
            header: Vec::new(),
            length,
            rate,
            bytes: amount,
            first: 1,
            end: Ending::Told,
            no_more_than: match limit.clone() {
                Received::Bytes(u64::MAX) => None,
                other => Some(other),
            },
            payload: None,
        };
        let leg = Leg::start(
            info,
            Arc::clone(&link),
            0,
            start_ns,
            bell.ringer().map_err(said)?,
            move |work| match &*work.link {
                Link::Udp(socket) => udp::send(socket, &sending, work),
                Link::Tcp(_) => Ok(()),
            },
        );
        legs.push(leg.map_err(said)?);
    }
    if way == Way::Dual
        && let Some(header) = header
        && let Some(leg) = connect_back(
            house,
            &header,
            peer,
            local,
            &bell,
            group,
            limit.clone(),
            Some(first.layout),
        )
    {
        legs.push(leg);
    }
    let ns = |time: Duration| {
        u64::try_from(time.as_nanos())
            .unwrap_or(u64::MAX / 4)
            .min(u64::MAX / 4)
    };
    let start = monotonic_ns();
    let stop = [house.stop.fd()];
    let idle = if proven {
        house.options.idle
    } else {
        house.options.idle.min(SPEECHLESS)
    };
    let watch = Watch {
        tell: &house.tell,
        interval: house.options.interval,
        stop_ns: time
            .filter(|_| way != Way::Up)
            .map(|time| start.saturating_add(ns(time))),
        end_ns: house
            .options
            .max_time
            .map(|most| start.saturating_add(ns(most)).saturating_add(2_000_000_000)),
        idle: Some(idle),
        stop: &stop,
    };
    let (totals, why) = attend(&mut legs, &mut bell, &watch);
    tell_reports(&house.tell, &legs);
    let failure = why.or_else(|| legs.iter().find_map(|leg| leg.failure.clone()));
    drop(legs);
    drop(link);
    if way == Way::Tradeoff
        && failure.is_none()
        && !house.is_stopping()
        && let Some(header) = header
    {
        let limit = if proven {
            Received::Bytes(u64::MAX)
        } else {
            Received::Bytes(totals.iter().map(|total| total.bytes).sum())
        };
        if let Some(leg) = connect_back(
            house,
            &header,
            peer,
            local,
            &bell,
            group,
            limit,
            Some(first.layout),
        ) {
            let mut legs = vec![leg];
            let failure = run(house, &mut legs, &mut bell, time);
            tell_reports(&house.tell, &legs);
            return failure.map_or(Ok(()), Err);
        }
    }
    match failure {
        Some(why) if !house.is_stopping() => Err(why),
        _ => Ok(()),
    }
}

/// Tells what the other ends of senders have reported.
pub(super) fn tell_reports(tell: &Tell, legs: &[Leg]) {
    for leg in legs
        .iter()
        .filter(|leg| leg.info.udp && super::sends(leg.info.role))
    {
        let report = *leg
            .notes
            .reported
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(report) = report {
            tell(Event::Reported(
                Arc::clone(&leg.info),
                super::client::figures(&report),
            ));
        } else {
            let tries = leg.notes.unreported.load(Ordering::Relaxed);
            if tries > 0 {
                tell(Event::Unreported(Arc::clone(&leg.info), tries));
            }
        }
    }
}
