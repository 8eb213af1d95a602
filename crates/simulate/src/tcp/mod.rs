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
}

impl Default for TcpSettings {
    /// CUBIC over plain Ethernet; windows of 4 MiB, about what Linux grows its buffers to (tcp(7), `tcp_rmem`).
    fn default() -> Self {
        Self {
            framing: Framing::default(),
            congestion: Congestion::Cubic,
            send_window: ByteCount::new(4 << 20),
            receive_window: ByteCount::new(4 << 20),
        }
    }
}
