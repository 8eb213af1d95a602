//! A flow of a capture.

use super::application::RecognisedProtocol;
use super::direction::CapturedDirection;
use super::tcp::TcpAnalysis;
use super::udp::UdpAnalysis;
use caudal_core::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// One socket pair of a capture, both directions: what it carried, and how.
///
/// A new connection between the same ports is a flow of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapturedFlow {
    /// Its number, counted from 1 in the order of first frames.
    pub number: u64,
    /// Its transport.
    pub transport: CapturedTransport,
    /// The end that opened it.
    pub client: CapturedEnd,
    /// The other end.
    pub server: CapturedEnd,
    /// How client and server were determined.
    pub roles: FlowRoles,
    /// What it carries; absent where its bytes do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<RecognisedProtocol>,
    /// Its first frame, numbered from 1 over all files.
    pub first_frame: u64,
    /// Its last frame.
    pub last_frame: u64,
    /// Time from the first frame of the capture to its first frame, s.
    pub start_s: f64,
    /// Time between its first and its last frame, s.
    pub duration_s: f64,
    /// Frames of both directions.
    pub frames: u64,
    /// Bytes of both directions, from the link header on.
    pub bytes: ByteCount,
    /// From client to server.
    pub to_server: CapturedDirection,
    /// From server to client.
    pub to_client: CapturedDirection,
    /// ICMP errors about its packets.
    pub icmp_errors: u64,
    /// The analysis of a TCP connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Box<TcpAnalysis>>,
    /// The analysis of a flow of UDP datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<Box<UdpAnalysis>>,
}

/// What carries a flow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CapturedTransport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP or ICMPv6 other than errors: echo requests and replies.
    Icmp,
    /// Another protocol above IP, or fragments that could not be put together.
    Other,
}

/// One end of a flow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct CapturedEnd {
    /// Its address.
    pub address: IpAddr,
    /// Its port; absent where the transport has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// How client and server of a flow were determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowRoles {
    /// The client sent the SYN.
    Handshake,
    /// The client sent the first frame that was captured.
    FirstFrame,
}

impl fmt::Display for CapturedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Icmp => "ICMP",
            Self::Other => "other",
        })
    }
}

impl fmt::Display for CapturedEnd {
    /// `10.0.0.1:5201`, `[::1]:5201`, or the address alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => f.pad(&SocketAddr::new(self.address, port).to_string()),
            None => f.pad(&self.address.to_string()),
        }
    }
}
