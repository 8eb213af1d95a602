//! The parameters of a test, for the view that shows it.

use super::bounceback::BouncebackTest;
use super::transit_histogram::FlowHistograms;
use caudal_core::text::ExternalText;
use caudal_wire::iperf2::TestMode;
use std::net::SocketAddr;

/// The parameters of a client's test, for the view that shows it.
#[derive(Debug, Clone)]
pub struct Iperf2Session {
    /// The other end.
    pub peer: SocketAddr,
    /// The number of the connection, from 1; 0 for a client's test, whose connections count from 1. A connection of this
    /// session with another number is the one with which the server connects back.
    pub number: u32,
    /// The directions, and who connects.
    pub mode: TestMode,
    /// The number of the group of connections whose sums belong together.
    pub group: u64,
    /// Connections in that group.
    pub members: u32,
    /// The other end's version, where it reports one.
    pub version: Option<ExternalText>,
    /// `true` when no report is sent or awaited at the end.
    pub no_udp_fin: bool,
    /// `true` when one-way times are measured.
    pub trip_times: bool,
    /// The TOS byte.
    pub tos: u8,
    /// The test of response times, at its client.
    pub bounceback: Option<BouncebackTest>,
    /// The histograms of one-way times of its flows, where they are counted.
    pub histograms: Option<FlowHistograms>,
}
