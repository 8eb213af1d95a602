//! The protocols a peer may speak.

use std::fmt;

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
}

impl fmt::Display for Protocol {
    /// The name of the program it belongs to.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "caudal",
            Self::Iperf3 => "iperf3",
            Self::Iperf2 => "iperf 2",
            Self::Nttcp => "nttcp",
        })
    }
}
