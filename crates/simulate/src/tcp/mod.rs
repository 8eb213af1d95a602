//! TCP, segment by segment, after what Linux does.

pub(crate) mod connection;
mod controller;
mod cubic;
mod receiver;
mod reno;
mod rtt;
mod scoreboard;
pub(crate) mod segment;
mod sender;
mod window;

use caudal_core::framing::Framing;
use caudal_core::units::ByteCount;
use serde::{Deserialize, Serialize};

/// What decides how much may be in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    /// NewReno's window with selective acknowledgements (RFC 5681, 6675).
    Reno,
    /// CUBIC (RFC 9438) with HyStart, as in Linux.
    Cubic,
}

/// How both ends of a connection are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSettings {
    /// Headers and the largest packet.
    pub framing: Framing,
    /// The congestion control of both ends.
    pub congestion: Congestion,
    /// The most that is sent and not acknowledged: what the sender's buffer holds.
    pub send_window: ByteCount,
    /// The most that the receiver takes in flight: what its window says.
    pub receive_window: ByteCount,
    /// What the ends say to each other before the stream.
    pub greeting: Greeting,
}

/// A message and its answer that cross a connection before its stream begins.
///
/// They are small, and their round trip is the shortest the connection will see: HyStart and loss detection compare all
/// later ones with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// Bytes of the message; with none the stream begins at once.
    pub asked: u32,
    /// Bytes of its answer; with none the stream begins when the message is acknowledged.
    pub answered: u32,
}

impl Greeting {
    /// None.
    pub const NONE: Self = Self {
        asked: 0,
        answered: 0,
    };
    /// What opens a data connection of caudal's protocol.
    pub const CAUDAL: Self = Self {
        asked: 32,
        answered: 8,
    };
    /// What opens a data connection of iperf3: its cookie.
    pub const IPERF3: Self = Self {
        asked: 37,
        answered: 0,
    };
}

impl Default for TcpSettings {
    /// CUBIC over plain Ethernet as caudal opens it; windows of 4 MiB, about what Linux grows its buffers to (tcp(7),
    /// `tcp_wmem`).
    fn default() -> Self {
        Self {
            framing: Framing::default(),
            congestion: Congestion::Cubic,
            send_window: ByteCount::new(4 << 20),
            receive_window: ByteCount::new(4 << 20),
            greeting: Greeting::CAUDAL,
        }
    }
}
