//! A test that a client of iperf 2 asks a server for.

use super::bounceback::BouncebackTest;
use super::opening_turns::max_wait_ns;
use super::session_view::Iperf2Session;
use super::transit_histogram::FlowHistograms;
use caudal_core::plan::{Direction, Pacing, PlannedFlow, Transport};
use caudal_core::units::BitRate;
use caudal_engine::server::{SessionEventSender, SessionViews};
use caudal_flow::socket::CONNECT_TIMEOUT;
use caudal_flow::{DatagramPace, LocalBinding};
use caudal_wire::iperf2::{
    ExtensionLayout, HeaderExtension, TestAmount, TestHeader, TestMode, VERSION,
};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The time after the end of a test at which its last payload may arrive.
pub(super) const LATE: Duration = Duration::from_secs(2);
/// Largest value of the header's 31-bit fields.
const MAX_31_BITS: u32 = 0x7fff_ffff;

/// Bursts on a schedule: each is one write (TCP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodicBurst {
    /// The length of a burst, bytes.
    pub bytes: u32,
    /// The time from the beginning of one burst to that of the next; above zero.
    pub period: Duration,
}

impl PeriodicBurst {
    /// The rate that the bursts amount to, bit/s.
    pub(super) fn rate(&self) -> u64 {
        (f64::from(self.bytes) * 8.0 / self.period.as_secs_f64()).round() as u64
    }
}

/// The ports that the connections of a test go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPorts {
    /// All go to the server's port.
    Same,
    /// Those after the first count it up.
    Successive,
}

/// A test that a client of iperf 2 asks a server for.
#[derive(Debug, Clone)]
pub struct Iperf2Request {
    /// The server.
    pub peer: SocketAddr,
    /// The local end; connections after the first count the port up.
    pub binding: LocalBinding,
    /// The transport protocol.
    pub transport: Transport,
    /// The directions, and who connects.
    pub mode: TestMode,
    /// Connections.
    pub parallel: u32,
    /// Bytes in a block or datagram; `None` for the default.
    pub length: Option<u32>,
    /// The duration; `None` for no end by time.
    pub time: Option<Duration>,
    /// The payload on each connection, bytes.
    pub bytes: Option<u64>,
    /// The rate of each connection, bit/s; `None` for as fast as possible.
    pub rate: Option<u64>,
    /// The standard deviation of the rate, bit/s, where it varies (UDP).
    pub rate_deviation: Option<u64>,
    /// The time between datagrams, instead of a rate (UDP).
    pub gap: Option<Duration>,
    /// The bursts in which this end sends, instead of blocks at a rate (TCP).
    pub burst: Option<PeriodicBurst>,
    /// The way UDP flows with a rate wait for the next departure.
    pub pacing: Pacing,
    /// The socket buffers, bytes.
    pub window: Option<usize>,
    /// The maximum segment size, bytes.
    pub mss: Option<u32>,
    /// `true` to disable Nagle's algorithm.
    pub no_delay: bool,
    /// The TOS byte.
    pub tos: Option<u8>,
    /// The congestion control.
    pub congestion: Option<String>,
    /// The time to live of multicast.
    pub ttl: Option<u32>,
    /// The port on which the server is to connect back.
    pub listen_port: u16,
    /// The interval at which the flows are read; `None` for the end only.
    pub interval: Option<Duration>,
    /// `true` to send no test header.
    pub omit_header: bool,
    /// The key that the server asks for (TCP).
    pub permit_key: Option<String>,
    /// `true` to ask for the server's version.
    pub detect: bool,
    /// `true` to write the time of departure into what is sent.
    pub trip_times: bool,
    /// `true` when the end of a UDP flow is not reported.
    pub no_udp_fin: bool,
    /// The file that is sent instead of the pattern; `-` for standard input.
    pub payload: Option<PathBuf>,
    /// `true` to count reads by size.
    pub count_reads: bool,
    /// `true` to let the kernel drop what is received.
    pub discard: bool,
    /// The rate at which the kernel paces, bit/s.
    pub kernel_rate: Option<u64>,
    /// The time between connecting and the first write.
    pub start_delay: Option<Duration>,
    /// The test of response times, instead of one of throughput (TCP).
    pub bounceback: Option<BouncebackTest>,
    /// The histograms of one-way times of the flows, by their numbers, where they are counted.
    pub histograms: Option<FlowHistograms>,
    /// The ports that connections go to.
    pub ports: ServerPorts,
    /// `true` to make the TCP connections only.
    pub connect_only: bool,
    /// The time a server may take to accept a connection.
    pub connect_timeout: Duration,
    /// The views of the tests in which the server connects back.
    pub views: Option<SessionViews<Iperf2Session>>,
    /// The receiver of the events of those tests.
    pub session_events: SessionEventSender,
}

impl Iperf2Request {
    /// An upload of ten seconds over TCP.
    #[must_use]
    pub fn new(peer: SocketAddr) -> Self {
        Self {
            peer,
            binding: LocalBinding::default(),
            transport: Transport::Tcp,
            mode: TestMode::Up,
            parallel: 1,
            length: None,
            time: Some(Duration::from_secs(10)),
            bytes: None,
            rate: None,
            rate_deviation: None,
            gap: None,
            burst: None,
            pacing: Pacing::Balanced,
            window: None,
            mss: None,
            no_delay: false,
            tos: None,
            congestion: None,
            ttl: None,
            listen_port: peer.port(),
            interval: None,
            omit_header: false,
            permit_key: None,
            detect: false,
            trip_times: false,
            no_udp_fin: false,
            payload: None,
            count_reads: false,
            discard: false,
            kernel_rate: None,
            start_delay: None,
            bounceback: None,
            histograms: None,
            ports: ServerPorts::Same,
            connect_only: false,
            connect_timeout: CONNECT_TIMEOUT,
            views: None,
            session_events: SessionEventSender::default(),
        }
    }

    /// The pace of its datagrams, where it is no constant rate.
    pub(super) fn pace(&self) -> Option<DatagramPace> {
        let rate = self.rate.filter(|rate| *rate > 0).map(BitRate::from_bps);
        match (self.gap, rate, self.rate_deviation) {
            (Some(Duration::ZERO), ..) => Some(DatagramPace::Max),
            (Some(gap), ..) => Some(DatagramPace::Gap(gap.as_nanos() as u64)),
            (None, Some(mean), Some(deviation)) => Some(DatagramPace::Varying {
                mean,
                deviation: BitRate::from_bps(deviation),
            }),
            _ => None,
        }
    }

    /// The address that the connection at position `nth` goes to.
    pub(super) fn peer_of(&self, nth: u32) -> SocketAddr {
        let mut peer = self.peer;
        if self.ports == ServerPorts::Successive {
            peer.set_port(peer.port().saturating_add(nth as u16));
        }
        peer
    }

    /// `true` over UDP.
    #[must_use]
    pub fn is_udp(&self) -> bool {
        self.transport == Transport::Udp
    }

    /// `true` when this end sends on its own connections.
    pub(super) fn sends(&self) -> bool {
        self.mode != TestMode::Reverse && self.bounceback.is_none()
    }

    /// `true` when this end receives on its own connections.
    pub(super) const fn receives(&self) -> bool {
        matches!(self.mode, TestMode::Reverse | TestMode::FullDuplex) || self.bounceback.is_some()
    }

    /// `true` when its flows open one after another.
    pub(super) fn has_opening_turns(&self) -> bool {
        self.is_udp() && self.parallel > 1 && !self.peer.ip().is_multicast()
            || self.is_udp() && self.receives()
    }

    /// The time for which this end sends, where that ends it: the last of several flows begins later and ends later.
    pub(super) fn send_time(&self) -> Option<Duration> {
        let time = self.time.filter(|_| self.bytes.is_none())?;
        let is_late = self.has_opening_turns() && !self.receives();
        let late_ns = if is_late {
            max_wait_ns(self.parallel - 1)
        } else {
            0
        };
        Some(time + Duration::from_nanos(late_ns))
    }

    /// `true` when the server connects back.
    pub(super) const fn is_connected_back(&self) -> bool {
        matches!(self.mode, TestMode::Dual | TestMode::Tradeoff)
    }

    /// Bytes in a block or datagram.
    #[must_use]
    pub fn block_length(&self) -> u32 {
        self.length.unwrap_or(match (self.transport, self.peer) {
            (Transport::Tcp, _) => 128 << 10,
            (Transport::Udp, SocketAddr::V4(_)) => 1470,
            (Transport::Udp, SocketAddr::V6(_)) => 1450,
        })
    }

    /// The flows of the connection at position `nth`: that in which this end sends, and that in which it receives.
    pub(super) fn flows(&self, nth: u32) -> (Option<PlannedFlow>, Option<PlannedFlow>) {
        let behind = if self.sends() { self.parallel } else { 0 };
        let up = PlannedFlow {
            id: nth,
            direction: Direction::Up,
        };
        let down = PlannedFlow {
            id: behind + nth,
            direction: Direction::Down,
        };
        (self.sends().then_some(up), self.receives().then_some(down))
    }

    /// The test as the views of sessions know it.
    #[must_use]
    pub fn session(&self) -> Iperf2Session {
        Iperf2Session {
            peer: self.peer,
            number: 0,
            mode: self.mode,
            group: 0,
            members: self.parallel,
            version: None,
            no_udp_fin: self.has_no_udp_fin(),
            trip_times: self.trip_times,
            tos: self.tos.unwrap_or(0),
            bounceback: self.bounceback,
            histograms: self.histograms.clone(),
        }
    }

    fn has_no_udp_fin(&self) -> bool {
        self.is_udp() && (self.no_udp_fin || self.mode == TestMode::FullDuplex)
    }

    /// The header that asks for the test; `None` where none is sent.
    pub(super) fn header(&self) -> Option<TestHeader> {
        if self.omit_header || self.bounceback.is_some() {
            return None;
        }
        let amount = match (self.bytes, self.time) {
            (Some(bytes), _) => {
                TestAmount::Bytes(u32::try_from(bytes).unwrap_or(MAX_31_BITS).min(MAX_31_BITS))
            }
            (None, Some(time)) => {
                let hundredths = u32::try_from(time.as_millis() / 10).unwrap_or(MAX_31_BITS);
                TestAmount::Hundredths(hundredths.max(1))
            }
            (None, None) => TestAmount::Bytes(0),
        };
        Some(TestHeader {
            mode: self.mode,
            threads: self.parallel,
            port: u32::from(self.listen_port),
            length: self.length.unwrap_or(0),
            window_or_rate: 0,
            amount,
            wide_ids: self.is_udp(),
            detect: self.detect,
            extended: Some(HeaderExtension {
                layout: ExtensionLayout::Announced,
                version: VERSION,
                tos: u16::from(self.tos.unwrap_or(0)),
                rate: self.rate.unwrap_or(0),
                no_udp_fin: self.has_no_udp_fin(),
                trip_times: self.trip_times,
            }),
        })
    }
}
