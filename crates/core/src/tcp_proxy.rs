//! TCP that is ended in the middle: a proxy, an SSH tunnel or a port forward of a program, between client and server.
//!
//! A network address translator changes addresses and ports and leaves the connection that of its two ends. A proxy has one connection
//! with each of them, so that what the kernel of either end knows, its round-trip time, its windows, its congestion, describes the
//! connection to the proxy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;

/// What shows that TCP is ended in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpProxyEvidence {
    /// The server may send larger segments than the client announced that it takes, and nothing on a path raises that number.
    SegmentSize,
    /// The kernels of both ends measure round-trip times that are far shorter than that of an exchange between the programs.
    RoundTrip,
}

/// A connection that is ended in the middle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpProxy {
    /// What shows it.
    pub evidence: TcpProxyEvidence,
    /// The address at which the client's connection ends.
    #[schemars(with = "String")]
    pub near: SocketAddr,
    /// The address from which the server gets its own.
    #[schemars(with = "String")]
    pub far: SocketAddr,
    /// The server's own address.
    #[schemars(with = "String")]
    pub server: SocketAddr,
    /// The minimum round-trip time end to end, of an exchange between both programs, µs.
    pub end_to_end_us: f64,
    /// The minimum round-trip time from the client to where its connection ends, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_rtt_us: Option<f64>,
    /// The same from the server, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_rtt_us: Option<f64>,
}

impl TcpProxy {
    /// The reason why nothing that a kernel knows of its connection describes the path.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.near == self.server {
            true => "TCP is ended on the way, in the server's name".to_owned(),
            false => format!("TCP ends at {} on the way", self.near),
        }
    }
}

impl fmt::Display for TcpProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TCP is ended in the middle (a proxy, an ssh tunnel or a port forward): ")?;
        let Self {
            near, far, server, ..
        } = self;
        match near == server {
            true => write!(
                f,
                "something on the way answers in the name of {server}, which has another connection from {far}"
            ),
            false => write!(
                f,
                "this end's connection goes to {near}, the server at {server} has another from {far}"
            ),
        }
    }
}
