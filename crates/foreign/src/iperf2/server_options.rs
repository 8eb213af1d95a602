//! The settings of a server of iperf 2.

use super::session_numbers::SessionNumbers;
use super::session_view::Iperf2Session;
use super::transit_histogram::HistogramBins;
use caudal_engine::Network;
use caudal_engine::server::SessionViews;
use caudal_flow::SessionLimits;
use std::net::IpAddr;
use std::time::Duration;

/// The treatment of datagrams from this machine's own addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnMachine {
    /// They are validated: nobody outside can send from them.
    Validated,
    /// They are like any other.
    Unvalidated,
}

/// The settings of a server of iperf 2.
#[derive(Debug, Clone)]
pub struct Iperf2Options {
    /// The address to listen on; `None` for all.
    pub bind: Option<IpAddr>,
    /// `true` to listen on IPv6 as well as IPv4, where no address is given.
    pub v6: bool,
    /// The interface to listen on.
    pub device: Option<String>,
    /// The port; 0 lets the kernel choose.
    pub port: u16,
    /// `true` to listen on TCP.
    pub tcp: bool,
    /// `true` to listen on UDP.
    pub udp: bool,
    /// The interval at which flows are read; `None` for the end only.
    pub interval: Option<Duration>,
    /// Bytes read at once.
    pub length: Option<u32>,
    /// The socket buffers, bytes.
    pub window: Option<usize>,
    /// The maximum segment size, bytes.
    pub mss: Option<u32>,
    /// `true` to disable Nagle's algorithm.
    pub no_delay: bool,
    /// The TOS byte.
    pub tos: Option<u8>,
    /// The congestion control of what is sent.
    pub congestion: Option<String>,
    /// The limits on each test.
    pub limits: SessionLimits,
    /// The time a client may make no progress.
    pub idle_timeout: Duration,
    /// `true` to connect back to clients that ask for it.
    pub connect_back: bool,
    /// The networks whose UDP clients count as validated.
    pub trusted: Vec<Network>,
    /// The treatment of datagrams from this machine.
    pub own_machine: OwnMachine,
    /// Multicast groups to join, each with the one source to receive from, where there is one.
    pub groups: Vec<(IpAddr, Option<IpAddr>)>,
    /// `true` to count reads by size.
    pub count_reads: bool,
    /// `true` to serve one client at a time.
    pub is_serial: bool,
    /// `true` to let the kernel drop received payload.
    pub discard: bool,
    /// The key that TCP clients must know; `None` to serve all.
    pub permit_key: Option<String>,
    /// The numbers of the sessions, which several servers may share.
    pub numbers: SessionNumbers,
    /// The bins of the one-way times of clients that measure trip times; `None` to count none.
    pub histogram_bins: Option<HistogramBins>,
    /// The views of the sessions.
    pub views: Option<SessionViews<Iperf2Session>>,
}

impl Default for Iperf2Options {
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
            limits: SessionLimits::default(),
            idle_timeout: Duration::from_secs(60),
            connect_back: true,
            trusted: Vec::new(),
            own_machine: OwnMachine::Validated,
            groups: Vec::new(),
            count_reads: false,
            is_serial: false,
            discard: false,
            permit_key: None,
            numbers: SessionNumbers::default(),
            histogram_bins: None,
            views: None,
        }
    }
}
