//! The near side: connects, says what it wants in the first bytes, and moves payload.

use super::attend::{Watch, attend};
use super::leg::{Figures, Latency, Leg, LegInfo, UdpFigures, over_tcp, over_udp};
use super::listen::set_tos;
use super::server::{Server, ServerOptions};
use super::tcp::{self, await_close, block};
use super::udp::{self, Ending};
use super::visit_tcp::opened;
use super::visit_udp::tell_reports;
use super::{Event, Tell};
use crate::bell::Bell;
use crate::carrier::Link;
use crate::error::RunError;
use crate::guests::Guests;
use crate::socket::{CONNECTING, plain};
use crate::tcp::Payload;
use caudal_core::plan::MAX_DATAGRAM;
use caudal_core::sample::Role;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::{buffers, options as flags, tcp as kernel, udp as datagrams};
use caudal_wire::iperf2::{
    Amount, Extended, Layout, ServerReport, TestHeader, VERSION, Way, datagram_header, fill_pattern,
};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How long after its time a test's last payload may come.
const LATE: Duration = Duration::from_secs(2);
/// How long to wait for a server that is to connect back.
const CONNECTED_BACK: Duration = Duration::from_secs(8);
/// How much of a file fills datagrams, bytes.
const MOST_PAYLOAD: u64 = 64 << 10;

/// Where payload comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Source {
    /// The digits.
    #[default]
    Digits,
    /// A file.
    File(PathBuf),
    /// Standard input.
    Input,
}

/// What a client is to do.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// The server.
    pub peer: SocketAddr,
    /// The local address to leave from.
    pub bind: Option<IpAddr>,
    /// The local port to leave from; connections after the first count up.
    pub local_port: Option<u16>,
    /// The interface to leave from.
    pub device: Option<String>,
    /// Whether over UDP.
    pub udp: bool,
    /// Which way.
    pub way: Way,
    /// Connections.
    pub parallel: u32,
    /// Bytes in a block or datagram; `None` for the default.
    pub length: Option<usize>,
    /// How long; `None` for no end by time.
    pub time: Option<Duration>,
    /// How much on each connection.
    pub bytes: Option<u64>,
    /// Bit/s on each connection; `None` for as fast as it goes (UDP: the default of 1 Mbit/s is the caller's).
    pub rate: Option<u64>,
    /// Socket buffers.
    pub window: Option<usize>,
    /// Largest segment.
    pub mss: Option<u32>,
    /// Whether Nagle's algorithm is off.
    pub no_delay: bool,
    /// The TOS byte.
    pub tos: Option<u8>,
    /// Congestion control.
    pub congestion: Option<String>,
    /// Time to live of multicast.
    pub ttl: Option<u32>,
    /// The port to be connected back to.
    pub listen_port: u16,
    /// How often to report.
    pub interval: Option<Duration>,
    /// No header at all.
    pub compatible: bool,
    /// Ask for the server's version.
    pub detect: bool,
    /// Stamp what is sent.
    pub trip_times: bool,
    /// No last report.
    pub no_udp_fin: bool,
    /// Where payload comes from.
    pub source: Source,
    /// Count reads by size.
    pub distribution: bool,
    /// Let the kernel drop what is received.
    pub discard: bool,
    /// Whether IPv6 may be listened on for connections back.
    pub v6: bool,
    /// Pacing by the kernel, bit/s.
    pub fq_rate: Option<u64>,
    /// How long to hold back between connecting and the first write.
    pub delay: Option<Duration>,
    /// The TCP connections are only made.
    pub connect_only: bool,
    /// How long a server may take to take a connection.
    pub connecting: Duration,
}

impl ClientOptions {
    /// A test of ten seconds over TCP.
    #[must_use]
    pub fn new(peer: SocketAddr) -> Self {
        Self {
            peer,
            bind: None,
            local_port: None,
            device: None,
            udp: false,
            way: Way::Up,
            parallel: 1,
            length: None,
            time: Some(Duration::from_secs(10)),
            bytes: None,
            rate: None,
            window: None,
            mss: None,
            no_delay: false,
            tos: None,
            congestion: None,
            ttl: None,
            listen_port: peer.port(),
            interval: None,
            compatible: false,
            detect: false,
            trip_times: false,
            no_udp_fin: false,
            source: Source::Digits,
            distribution: false,
            discard: false,
            v6: false,
            fq_rate: None,
            delay: None,
            connect_only: false,
            connecting: CONNECTING,
        }
    }

    /// Bytes in a block or datagram.
    #[must_use]
    pub fn block(&self) -> usize {
        self.length.unwrap_or(match (self.udp, self.peer) {
            (false, _) => 128 << 10,
            (true, SocketAddr::V4(_)) => 1470,
            (true, SocketAddr::V6(_)) => 1450,
        })
    }

    fn header(&self) -> Option<TestHeader> {
        if self.compatible {
            return None;
        }
        let hundredths =
            |time: Duration| u32::try_from(time.as_millis() / 10).unwrap_or(0x7fff_ffff);
        let amount = match (self.bytes, self.time) {
            (Some(bytes), _) => {
                Amount::Bytes(u32::try_from(bytes).unwrap_or(0x7fff_ffff).min(0x7fff_ffff))
            }
            (None, Some(time)) => Amount::Hundredths(hundredths(time).max(1)),
            (None, None) => Amount::Bytes(0),
        };
        Some(TestHeader {
            way: self.way,
            threads: self.parallel,
            port: u32::from(self.listen_port),
            length: self.length.map_or(0, |length| length as u32),
            window_or_rate: 0,
            amount,
            wide_ids: self.udp,
            detect: self.detect,
            extended: Some(Extended {
                version: VERSION,
                tos: u16::from(self.tos.unwrap_or(0)),
                rate: self.rate.unwrap_or(0),
                no_udp_fin: self.udp && (self.no_udp_fin || self.way == Way::FullDuplex),
                trip_times: self.trip_times,
            }),
        })
    }
}

/// What came of a test.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Every leg with what it moved, and what the other end says of it.
    pub legs: Vec<(Arc<LegInfo>, Figures, Option<Figures>)>,
    /// Why it is not all it should be.
    pub failures: Vec<String>,
}

/// A client's test.
pub struct Client;

pub(super) struct Connection {
    link: Arc<Link>,
    info: LegInfo,
    header: Option<TestHeader>,
}

impl Client {
    /// Runs a test to its end, or until `stop` is readable.
    ///
    /// # Errors
    /// When it cannot be begun.
    pub fn run(
        options: &ClientOptions,
        tell: &Tell,
        stop: BorrowedFd<'_>,
    ) -> Result<Outcome, RunError> {
        let pipe = |cause| RunError::local("opening a pipe", cause);
        let mut bell = Bell::new().map_err(pipe)?;
        let back = listen_back(options, tell)?;
        let connections = connect(options, tell)?;
        if options.connect_only {
            return Ok(Outcome::default());
        }
        if let Some(delay) = options.delay {
            // A stop ends the wait, and then the test.
            let _ = caudal_sys::poll::poll_readable(&[stop], Some(delay));
        }
        let mut legs = start(options, &connections, &bell)?;
        let start_ns = monotonic_ns();
        let ns = |time: Duration| time.as_nanos() as u64;
        let time = options.time.filter(|_| options.bytes.is_none());
        let stops = [stop];
        let watch = Watch {
            tell,
            interval: options.interval,
            stop_ns: time.map(|time| start_ns + ns(time)),
            end_ns: time
                .filter(|_| matches!(options.way, Way::Reverse | Way::FullDuplex))
                .map(|time| start_ns + ns(time + LATE)),
            idle: options
                .bytes
                .filter(|_| matches!(options.way, Way::Reverse | Way::FullDuplex))
                .map(|_| Duration::from_secs(15)),
            stop: &stops,
        };
        let (totals, why) = attend(&mut legs, &mut bell, &watch);
        tell_reports(tell, &legs);
        let mut outcome = Outcome::default();
        outcome.failures.extend(why);
        for (leg, total) in legs.iter().zip(totals) {
            let report = *leg
                .notes
                .reported
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            outcome.failures.extend(leg.failure.clone());
            if !super::sends(leg.info.role) && total.bytes == 0 && leg.failure.is_none() {
                outcome.failures.push(
                    "nothing came from the server; versions before 2.1 do not know -R and --full-duplex".to_owned(),
                );
            }
            outcome
                .legs
                .push((Arc::clone(&leg.info), total, report.as_ref().map(figures)));
        }
        if options.way == Way::FullDuplex {
            for connection in &connections {
                if let Link::Tcp(stream) = &*connection.link {
                    await_close(stream);
                }
            }
        }
        drop(legs);
        if let Some((server, guests)) = back {
            outcome.failures.extend(await_back(options, &guests, stop));
            server.stop();
        }
        Ok(outcome)
    }
}

/// Waits until the server has connected back and ended; why it did not.
fn await_back(options: &ClientOptions, guests: &Guests, stop: BorrowedFd<'_>) -> Option<String> {
    let expected = options.parallel as usize;
    let begun = monotonic_ns();
    let longest = options.time.unwrap_or(Duration::from_secs(3600)) + CONNECTED_BACK + LATE;
    loop {
        if guests.served() >= expected && guests.inside() == 0 {
            return None;
        }
        let waited = Duration::from_nanos(monotonic_ns() - begun);
        let nobody = guests.served() + guests.inside() < expected;
        if nobody && waited > CONNECTED_BACK || waited > longest {
            return Some(format!(
                "the server did not connect back to port {}; a firewall or address translation may be between, \
                 -R and --full-duplex need no second connection",
                options.listen_port
            ));
        }
        let ready = caudal_sys::poll::poll_readable(&[stop], Some(Duration::from_millis(10)));
        if ready.is_ok_and(|ready| ready.contains(&true)) {
            return None;
        }
    }
}

/// Listens for the server, where it is to connect back.
fn listen_back(options: &ClientOptions, tell: &Tell) -> Result<Option<(Server, Guests)>, RunError> {
    if !matches!(options.way, Way::Dual | Way::Tradeoff) {
        return Ok(None);
    }
    let allow = options
        .peer
        .ip()
        .to_canonical()
        .to_string()
        .parse()
        .into_iter()
        .collect();
    let guests = Guests::new(allow, options.parallel as usize);
    let server = Server::start(
        ServerOptions {
            bind: options.bind,
            v6: options.peer.is_ipv6(),
            port: options.listen_port,
            tcp: !options.udp,
            udp: options.udp,
            interval: options.interval,
            window: options.window,
            connect_back: false,
            distribution: options.distribution,
            first_number: options.parallel,
            ..ServerOptions::default()
        },
        guests.clone(),
        Arc::clone(tell),
    )?;
    tell(Event::Listening {
        udp: options.udp,
        port: server.port(),
        buffer: if options.udp {
            server.receive_buffers().1
        } else {
            server.receive_buffers().0
        },
    });
    Ok(Some((server, guests)))
}

pub(super) fn connect(options: &ClientOptions, tell: &Tell) -> Result<Vec<Connection>, RunError> {
    let mut connections = Vec::new();
    for nth in 0..options.parallel {
        let began = monotonic_ns();
        let socket = socket(options, nth)?;
        let peer = options.peer;
        if options.udp {
            socket.connect(&SockAddr::from(peer))
        } else {
            socket.connect_timeout(&SockAddr::from(peer), options.connecting)
        }
        .map_err(|cause| RunError::Connect { peer, cause })?;
        let connecting = Duration::from_nanos(monotonic_ns() - began);
        if nth == 0 {
            let buffer = match (options.udp, options.way) {
                (true, Way::Reverse) => buffers::receive_buffer(&socket),
                _ => buffers::send_buffer(&socket),
            };
            tell(Event::Ready {
                buffer: buffer.unwrap_or(0),
            });
        }
        let header = options.header();
        let mut info = LegInfo {
            number: nth + 1,
            role: Role::Sender,
            back: false,
            udp: options.udp,
            local: peer,
            peer,
            way: options.way,
            group: 0,
            members: options.parallel,
            socket: socket.as_raw_fd(),
            version: None,
            connecting: (!options.udp).then_some(connecting),
            opened: None,
            no_udp_fin: options.udp && (options.no_udp_fin || options.way == Way::FullDuplex),
            trip_times: options.trip_times,
            tos: options.tos.unwrap_or(0),
        };
        let link = if options.udp {
            let udp: UdpSocket = socket.into();
            info.local = udp.local_addr().map_or(peer, plain);
            datagrams::enable_gro(&udp);
            let _ = datagrams::enable_receive_timestamps(&udp);
            Link::Udp(udp)
        } else {
            let stream: TcpStream = socket.into();
            info.local = stream.local_addr().map_or(peer, plain);
            info.opened = opened(&stream);
            Link::Tcp(stream)
        };
        tell(Event::Connected(Arc::new(info.clone())));
        connections.push(Connection {
            link: Arc::new(link),
            info,
            header,
        });
    }
    Ok(connections)
}

fn socket(options: &ClientOptions, nth: u32) -> Result<Socket, RunError> {
    let local = |wanted: &str, outcome: io::Result<()>| {
        outcome.map_err(|cause| RunError::local(wanted, cause))
    };
    let peer = options.peer;
    let (kind, protocol) = if options.udp {
        (Type::DGRAM, Protocol::UDP)
    } else {
        (Type::STREAM, Protocol::TCP)
    };
    let socket = Socket::new(Domain::for_address(peer), kind, Some(protocol))
        .map_err(|cause| RunError::local("opening a socket", cause))?;
    if let Some(device) = &options.device {
        local(
            "binding to the device (-B)",
            flags::bind_device(&socket, device),
        )?;
    }
    if options.bind.is_some() || options.local_port.is_some() {
        let address = options.bind.unwrap_or(match peer {
            SocketAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
        });
        let port = options
            .local_port
            .map_or(0, |port| port.saturating_add(nth as u16));
        if !options.udp {
            local("reusing an address", socket.set_reuse_address(true))?;
        }
        local(
            &format!("binding to {address} (-B)"),
            socket.bind(&SockAddr::from(SocketAddr::new(address, port))),
        )?;
    }
    if let Some(bytes) = options.window {
        let set = buffers::set_send_buffer(&socket, bytes, false)
            .and_then(|_| buffers::set_receive_buffer(&socket, bytes, false));
        local("setting the buffers (-w)", set.map(|_| ()))?;
    }
    if let Some(tos) = options.tos {
        local(
            "setting the TOS byte (-S)",
            set_tos(&socket, peer.is_ipv6(), tos),
        )?;
    }
    if options.udp {
        if let (Some(ttl), true) = (options.ttl.or(Some(1)), peer.ip().is_multicast()) {
            let set = if peer.is_ipv4() {
                socket.set_multicast_ttl_v4(ttl)
            } else {
                socket.set_multicast_hops_v6(ttl)
            };
            local("setting the time to live (-T)", set)?;
        }
    } else {
        if let Some(mss) = options.mss {
            local(
                "setting the segment size (-M)",
                kernel::set_max_segment(&socket, mss),
            )?;
        }
        if options.no_delay {
            local(
                "turning Nagle's algorithm off (-N)",
                socket.set_tcp_nodelay(true),
            )?;
        }
        if let Some(name) = &options.congestion {
            local(
                &format!("setting the congestion control {name} (-Z)"),
                kernel::set_congestion(&socket, name),
            )?;
        }
        if let Some(rate) = options.fq_rate {
            local(
                "setting --fq-rate",
                kernel::set_pacing_rate(&socket, rate / 8),
            )?;
        }
    }
    Ok(socket)
}

pub(super) fn start(
    options: &ClientOptions,
    connections: &[Connection],
    bell: &Bell,
) -> Result<Vec<Leg>, RunError> {
    let thread = |cause| RunError::local("starting a thread", cause);
    let mut legs = Vec::new();
    let start_ns = monotonic_ns();
    for connection in connections {
        let mut sender = None;
        let mut receiver = None;
        match &*connection.link {
            Link::Tcp(stream) => {
                let header = connection
                    .header
                    .map(|header| header.encode_tcp(super::wall()))
                    .unwrap_or_default();
                let base = header.len() as u64;
                let mut writer = stream;
                writer.write_all(&header).map_err(|cause| RunError::Lost {
                    doing: "asking for a test",
                    cause,
                })?;
                if options.way != Way::Reverse {
                    let sending = tcp::Sending {
                        payload: payload(options)?,
                        length: options.block(),
                        rate: options.rate,
                        bytes: options.bytes.map(|bytes| bytes.saturating_sub(base)),
                        bursts: options.trip_times,
                        alone: options.way != Way::FullDuplex,
                    };
                    sender = Some((
                        base,
                        over_tcp(move |stream, work| tcp::send(stream, sending, work)),
                    ));
                }
                if matches!(options.way, Way::Reverse | Way::FullDuplex) {
                    let (length, distribution, discard) =
                        (options.block(), options.distribution, options.discard);
                    receiver = Some(over_tcp(move |stream, work| {
                        tcp::receive(stream, length, distribution, discard, work)
                    }));
                }
            }
            Link::Udp(_) => {
                let length = options.block().clamp(16, MAX_DATAGRAM as usize);
                // A datagram too small for the header goes without.
                let header = connection
                    .header
                    .filter(|_| length >= 76)
                    .map(|header| header.encode_udp(super::wall()))
                    .unwrap_or_default();
                let to_group = options.peer.ip().is_multicast();
                let answered =
                    options.way == Way::Up || matches!(options.way, Way::Dual | Way::Tradeoff);
                let mut request = vec![0; length];
                fill_pattern(&mut request);
                for (byte, value) in request[16..].iter_mut().zip(&header) {
                    *byte = *value;
                }
                datagram_header(&mut request, Layout::Sixteen, 1, super::wall());
                if options.way != Way::Reverse {
                    let sending = udp::Sending {
                        layout: Layout::Sixteen,
                        header,
                        length,
                        rate: options.rate,
                        bytes: options.bytes,
                        first: 1,
                        end: if answered && !to_group && !options.no_udp_fin {
                            Ending::Answered
                        } else {
                            Ending::Told
                        },
                        no_more_than: None,
                        payload: udp_payload(options)?,
                    };
                    sender = Some((
                        0,
                        over_udp(move |socket, work| udp::send(socket, &sending, work)),
                    ));
                }
                if matches!(options.way, Way::Reverse | Way::FullDuplex) {
                    let receiving = udp::Receiving {
                        layout: Layout::Sixteen,
                        wide: true,
                        first: 1,
                        strays: None,
                        answer: false,
                        times: false,
                        request: (options.way == Way::Reverse).then_some(request),
                        ends_itself: true,
                        most_ns: options
                            .time
                            .filter(|_| options.bytes.is_none())
                            .map(|time| (time + LATE / 4).as_nanos() as u64),
                    };
                    receiver = Some(over_udp(move |socket, work| {
                        udp::receive(socket, &receiving, work)
                    }));
                }
            }
        }
        let ring = || {
            bell.ringer()
                .map_err(|cause| RunError::local("opening a pipe", cause))
        };
        if let Some((base, carry)) = sender {
            legs.push(
                Leg::start(
                    connection.info.clone(),
                    Arc::clone(&connection.link),
                    base,
                    start_ns,
                    ring()?,
                    carry,
                )
                .map_err(thread)?,
            );
        }
        if let Some(carry) = receiver {
            let info = LegInfo {
                role: Role::Receiver,
                back: true,
                ..connection.info.clone()
            };
            legs.push(
                Leg::start(
                    info,
                    Arc::clone(&connection.link),
                    0,
                    start_ns,
                    ring()?,
                    carry,
                )
                .map_err(thread)?,
            );
        }
    }
    Ok(legs)
}

fn open(source: &Source) -> Result<Option<File>, RunError> {
    match source {
        Source::Digits => Ok(None),
        Source::File(path) => File::open(path)
            .map(Some)
            .map_err(|cause| RunError::local(format!("opening {}", path.display()), cause)),
        Source::Input => io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .map(|input| Some(File::from(input)))
            .map_err(|cause| RunError::local("reading standard input", cause)),
    }
}

fn payload(options: &ClientOptions) -> Result<Payload, RunError> {
    let Some(file) = open(&options.source)? else {
        return Ok(block(options.block()));
    };
    let regular = file.metadata().is_ok_and(|about| about.is_file());
    Ok(if regular && options.source != Source::Input {
        Payload::File { file, offset: 0 }
    } else {
        Payload::Stream {
            source: file,
            buffer: vec![0; options.block()],
        }
    })
}

fn udp_payload(options: &ClientOptions) -> Result<Option<Vec<u8>>, RunError> {
    let Some(file) = open(&options.source)? else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    file.take(MOST_PAYLOAD)
        .read_to_end(&mut bytes)
        .map_err(|cause| RunError::local("reading the payload (-F)", cause))?;
    Ok(Some(bytes))
}

/// A server's report as the figures of a leg.
pub(super) fn figures(report: &ServerReport) -> Figures {
    let transit = report.transit.unwrap_or_default();
    Figures {
        end_s: f64::from(report.duration.0) + f64::from(report.duration.1) / 1e6,
        bytes: report.bytes,
        datagrams: report.datagrams.saturating_sub(report.lost),
        udp: Some(UdpFigures {
            jitter_ms: report.jitter_us as f64 / 1e3,
            lost: report.lost as i64,
            total: report.datagrams,
            out_of_order: report.out_of_order,
            latency: Latency {
                count: u64::from(transit.count),
                mean_s: transit.mean_s,
                min_s: transit.min_s,
                max_s: transit.max_s,
                m2: transit.m2,
            },
        }),
        ..Figures::default()
    }
}
