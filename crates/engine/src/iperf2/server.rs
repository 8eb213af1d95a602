//! The far side: every connection is a test of its own, and what its first bytes ask is what it gets,
//! within limits.

use super::attend::{Watch, attend};
use super::leg::{Figures, Leg};
use super::listen::{listen_tcp, listen_udp};
use super::visit_tcp::desk_tcp;
use super::visit_udp::desk_udp;
use super::{Event, Tell};
use crate::allow::Network;
use crate::bell::Bell;
use crate::error::RunError;
use crate::guests::Guests;
use crate::stop::Stop;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::poll::poll_readable;
use caudal_sys::{buffers, interface};
use caudal_wire::iperf2::Amount;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a proof of an address holds, ns.
const PROOF_NS: u64 = 600_000_000_000;
/// Proofs that are kept at most.
const MOST_PROOFS: usize = 4096;
/// The largest block or datagram a client may ask for, bytes.
pub(super) const MAX_BLOCK: u32 = 1 << 20;
/// Rate of UDP unless said otherwise, bit/s.
pub(super) const UDP_RATE: u64 = 1 << 20;
pub(super) const STACK: usize = 256 << 10;
/// How long the sessions of a server that is stopped are waited for.
pub(super) const SEEING_OUT: Duration = Duration::from_secs(3);

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

pub(super) struct House {
    pub options: ServerOptions,
    pub guests: Guests,
    pub tell: Tell,
    pub stop: Stop,
    pub numbers: AtomicU32,
    pub groups: Mutex<HashMap<(IpAddr, bool), Group>>,
    pub group_numbers: AtomicU64,
    pub proofs: Mutex<HashMap<IpAddr, u64>>,
    /// Connections that have not said yet what they want.
    pub undecided: AtomicUsize,
}

pub(super) struct Group {
    number: u64,
    members: u32,
    joined: u32,
    since_ns: u64,
}

impl House {
    pub fn trouble(&self, peer: Option<SocketAddr>, what: impl Into<String>) {
        (self.tell)(Event::Trouble {
            peer,
            what: what.into(),
        });
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.is_asked()
    }

    /// The group a connection belongs to: clients say how many connections they are.
    pub fn group(&self, peer: SocketAddr, udp: bool, members: u32) -> (u64, u32) {
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

    pub fn prove(&self, address: IpAddr) {
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
    pub fn is_proven(&self, address: IpAddr) -> bool {
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

    pub fn rate(&self, asked: Option<u64>) -> Option<u64> {
        match (asked, self.options.max_rate) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        }
    }

    /// How long and how much a client asked for, within the limits.
    pub fn end(&self, amount: Amount) -> (Option<Duration>, Option<u64>) {
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
    desks: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// When a port cannot be had, or a thread cannot be started.
    pub fn start(options: ServerOptions, guests: Guests, tell: Tell) -> Result<Self, RunError> {
        let place = |what: &str, port: u16| format!("listening on {what} port {port}");
        let stop = Stop::new().map_err(|cause| RunError::local("opening a pipe", cause))?;
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
        self.house.stop.ask();
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

pub(super) fn wait(house: &House, fd: BorrowedFd<'_>) -> bool {
    let wait = Some(Duration::from_millis(500));
    match poll_readable(&[fd, house.stop.fd()], wait) {
        Ok(ready) => ready.first().copied().unwrap_or(false),
        Err(_) => {
            sleep_until(monotonic_ns() + 10_000_000);
            false
        }
    }
}

/// Watches over a test that may be silent for `idle`; what each leg moved, and why it ended early, if it did.
pub(super) fn run(
    house: &Arc<House>,
    legs: &mut [Leg],
    bell: &mut Bell,
    time: Option<Duration>,
    idle: Duration,
) -> (Vec<Figures>, Option<String>) {
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
        idle: Some(idle),
        stop: &stop,
    };
    let (totals, why) = attend(legs, bell, &watch);
    let failure = why.or_else(|| legs.iter().find_map(|leg| leg.failure.clone()));
    (totals, failure)
}
