//! A flow as it is shown: one direction of one connection.

use crate::iperf2::options::Options;
use caudal_core::event::DataConnection;
use caudal_core::plan::Transport;
use caudal_core::sample::Role;
use caudal_foreign::iperf2::{BouncebackTest, Iperf2Session};
use caudal_wire::iperf2::TestMode;
use std::net::SocketAddr;

/// The state of a TCP connection when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpeningState {
    /// The initial congestion window, bytes.
    pub(super) window_bytes: u64,
    /// The maximum segment size, bytes.
    pub(super) mss: u32,
    /// The round-trip time of the handshake, µs.
    pub(super) rtt_us: u32,
}

/// A flow as it is shown.
#[derive(Debug, Clone)]
pub(super) struct ShownFlow {
    /// The number of its connection, from 1.
    pub(super) number: u32,
    /// The role of this end.
    pub(super) role: Role,
    /// `true` for the flow of a connection with which the server connects back, at the server.
    pub(super) connects_back: bool,
    /// `true` when its number is shown with a star: it goes against the direction of its connection.
    pub(super) is_starred: bool,
    /// The transport protocol.
    pub(super) transport: Transport,
    /// The address of this end.
    pub(super) local: SocketAddr,
    /// The address of the other end.
    pub(super) peer: SocketAddr,
    /// The directions of the test, and who connects.
    pub(super) mode: TestMode,
    /// The number of the group of connections with a common sum.
    pub(super) group: u64,
    /// Connections in that group.
    pub(super) members: u32,
    /// The socket's descriptor.
    pub(super) descriptor: i32,
    /// The other end's version, where it reports one.
    pub(super) version: Option<String>,
    /// The time it took to connect, µs.
    pub(super) connect_us: Option<f64>,
    /// The state of TCP when the connection was opened.
    pub(super) opening: Option<OpeningState>,
    /// `true` when no report is sent or awaited at the end.
    pub(super) no_udp_fin: bool,
    /// `true` when one-way times are measured.
    pub(super) trip_times: bool,
    /// The TOS byte.
    pub(super) tos: u8,
    /// The test of response times.
    pub(super) bounceback: Option<BouncebackTest>,
}

impl ShownFlow {
    /// The flow of a connection that was opened in a session.
    pub(super) fn new(session: &Iperf2Session, connection: &DataConnection) -> Self {
        let is_client = session.number == 0;
        let connects_back = !is_client && connection.number != session.number;
        let is_starred = connects_back
            || match connection.role {
                Role::Receiver => is_client && session.bounceback.is_none(),
                Role::Sender => !is_client && session.mode == TestMode::FullDuplex,
            };
        let flow = Self {
            number: connection.number,
            role: connection.role,
            connects_back,
            is_starred,
            transport: connection.transport,
            local: connection.local,
            peer: connection.peer,
            mode: session.mode,
            group: session.group,
            members: session.members,
            descriptor: connection.descriptor,
            version: session.version.as_ref().map(ToString::to_string),
            connect_us: connection.connect_us,
            opening: opening_state(connection),
            no_udp_fin: session.no_udp_fin,
            trip_times: session.trip_times,
            tos: session.tos,
            bounceback: session.bounceback,
        };
        if !connects_back {
            return flow;
        }
        Self {
            mode: TestMode::Reverse,
            members: 1,
            version: None,
            no_udp_fin: false,
            trip_times: false,
            tos: 0,
            ..flow
        }
    }

    /// `true` over UDP.
    pub(super) fn is_udp(&self) -> bool {
        self.transport == Transport::Udp
    }

    /// `true` when its lines have the enhanced columns: by option, or where one-way times are measured by an end that receives.
    pub(super) fn is_enhanced(&self, options: &Options) -> bool {
        let is_client_that_receives = matches!(self.mode, TestMode::Reverse | TestMode::FullDuplex);
        options.enhanced || self.trip_times && (options.server || is_client_that_receives)
    }

    /// Its number as the first column shows it.
    pub(super) fn id(&self, options: &Options) -> String {
        let star = if self.is_starred { "*" } else { "" };
        shown_id(options, star, self.number)
    }
}

/// The number of a connection as the first column shows it, behind the key where tests need one.
pub(super) fn shown_id(options: &Options, star: &str, number: u32) -> String {
    match &options.permit_key {
        Some(key) => format!("[{star}{key}({number})]"),
        None => format!("[{:>3}]", format!("{star}{number}")),
    }
}

fn opening_state(connection: &DataConnection) -> Option<OpeningState> {
    Some(OpeningState {
        window_bytes: connection.initial_window_bytes?,
        mss: connection.mss?,
        rtt_us: connection.handshake_rtt_us?,
    })
}
