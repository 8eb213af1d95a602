//! What a flow carries, as far as its first bytes show it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A protocol above TCP or UDP that was recognised by bytes of its own, never by a port number.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RecognisedProtocol {
    /// The control connection of caudal.
    CaudalControl,
    /// A data connection of caudal.
    CaudalData,
    /// Datagrams of caudal.
    CaudalUdp,
    /// Reliable block transfer.
    Rbt,
    /// The control connection of iperf3.
    Iperf3Control,
    /// A data connection of iperf3.
    Iperf3Data,
    /// Datagrams of iperf3.
    Iperf3Udp,
    /// A connection of iperf 2.
    Iperf2Tcp,
    /// Datagrams of iperf 2.
    Iperf2Udp,
    /// QUIC (RFC 9000, RFC 9369).
    Quic,
    /// RTP (RFC 3550).
    Rtp,
    /// TLS (RFC 8446).
    Tls,
    /// HTTP/1 (RFC 9112).
    Http,
    /// SSH (RFC 4253).
    Ssh,
    /// A protocol that this version does not know.
    #[serde(other)]
    Unknown,
}

impl RecognisedProtocol {
    /// The name that people read.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CaudalControl => "caudal control",
            Self::CaudalData => "caudal data",
            Self::CaudalUdp => "caudal UDP",
            Self::Rbt => "RBT",
            Self::Iperf3Control => "iperf3 control",
            Self::Iperf3Data => "iperf3 data",
            Self::Iperf3Udp => "iperf3 UDP",
            Self::Iperf2Tcp => "iperf 2 TCP",
            Self::Iperf2Udp => "iperf 2 UDP",
            Self::Quic => "QUIC",
            Self::Rtp => "RTP",
            Self::Tls => "TLS",
            Self::Http => "HTTP",
            Self::Ssh => "SSH",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for RecognisedProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
