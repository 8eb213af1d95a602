//! The protocols a peer may speak.

use crate::{iperf2, nttcp};
use std::fmt;

/// The port of a server for clients of caudal and of iperf3, unless another is given.
pub const PORT: u16 = 5201;

/// The protocol between the two ends of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// caudal's own (spec/protocol.md).
    Native,
    /// That of iperf3.
    Iperf3,
    /// That of iperf 2.
    Iperf2,
    /// That of nttcp.
    Nttcp,
    /// HTTP and WebSocket, of browsers and of clients of ndt7.
    Web,
}

impl Protocol {
    /// The port on which its servers listen unless another is given.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Native | Self::Iperf3 | Self::Web => PORT,
            Self::Iperf2 => iperf2::PORT,
            Self::Nttcp => nttcp::PORT,
        }
    }
}

impl fmt::Display for Protocol {
    /// The name of the program it belongs to.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "caudal",
            Self::Iperf3 => "iperf3",
            Self::Iperf2 => "iperf 2",
            Self::Nttcp => "nttcp",
            Self::Web => "web",
        })
    }
}
