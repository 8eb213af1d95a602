//! The sockets of a test as it opens them.

use crate::plan::{PlannedFlow, Transport};
use crate::sample::Role;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A socket that listens for data connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListeningSocket {
    /// The transport protocol.
    pub transport: Transport,
    /// Its port.
    pub port: u16,
    /// Its receive buffer, bytes.
    pub receive_buffer_bytes: u32,
}

/// The first socket with which this end makes data connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectingSocket {
    /// The other end.
    pub peer: SocketAddr,
    /// The transport protocol.
    pub transport: Transport,
    /// Bytes in a block or datagram.
    pub length: u32,
    /// The rate of each flow, bit/s; absent for as fast as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// Its send buffer, or its receive buffer where this end only receives, bytes.
    pub buffer_bytes: u32,
}

/// One direction of a data connection that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataConnection {
    /// The flow it carries.
    #[serde(flatten)]
    pub flow: PlannedFlow,
    /// The connection's number, from 1: two flows may share one.
    pub number: u32,
    /// The role of this end.
    pub role: Role,
    /// The transport protocol.
    pub transport: Transport,
    /// The address of this end.
    pub local: SocketAddr,
    /// The address of the other end.
    pub peer: SocketAddr,
    /// The number of the socket's descriptor in this process.
    pub descriptor: i32,
    /// The send buffer the kernel granted, bytes.
    pub send_buffer_bytes: u32,
    /// The receive buffer the kernel granted, bytes.
    pub receive_buffer_bytes: u32,
    /// The maximum segment size, bytes (TCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<u32>,
    /// The initial congestion window, bytes (TCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window_bytes: Option<u64>,
    /// The round-trip time of the handshake, µs (TCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake_rtt_us: Option<u32>,
    /// The time it took to connect, µs, where this end connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_us: Option<f64>,
}
