//! The terms plans are made of: transports, directions, ends, warm-ups and rates.

use super::nanoseconds;
use crate::units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The transport protocol that carries the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// The Transmission Control Protocol.
    Tcp,
    /// The User Datagram Protocol.
    Udp,
}

impl Transport {
    /// `tcp` or `udp`, as JSON and CSV write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl std::fmt::Display for Transport {
    /// `TCP` or `UDP`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        })
    }
}

/// The direction in which a flow's payload travels, seen from the side that asked for the test.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Direction {
    /// Both directions, up first.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// `up` or `down`, as JSON and tables write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// `upload` or `download`, as text for people writes it.
    #[must_use]
    pub const fn in_text(self) -> &'static str {
        match self {
            Self::Up => "upload",
            Self::Down => "download",
        }
    }

    /// The other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// The directions a test measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Directions {
    /// Client to server only.
    Up,
    /// Server to client only.
    Down,
    /// Both at once.
    Both,
}

impl Directions {
    /// The single directions this stands for, up first.
    #[must_use]
    pub const fn each(self) -> &'static [Direction] {
        match self {
            Self::Up => &[Direction::Up],
            Self::Down => &[Direction::Down],
            Self::Both => &Direction::BOTH,
        }
    }
}

/// The condition that ends a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestEnd {
    /// After this long, by the receiver's clock.
    #[serde(with = "nanoseconds", rename = "time_ns")]
    #[schemars(with = "u64")]
    Time(Duration),
    /// After this much payload in each direction, shared by its flows.
    Bytes(ByteCount),
}

/// The warm-up excluded from the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Omit {
    /// None.
    Nothing,
    /// This long.
    #[serde(with = "nanoseconds", rename = "time_ns")]
    #[schemars(with = "u64")]
    Time(Duration),
    /// As much as MSER finds after the test.
    Auto,
}

/// Maximum rate of a flow whose segments of 1448 bytes are more than half a millisecond apart.
const MAX_SPARSE_RATE: BitRate = BitRate::from_bps(20_000_000);

/// The rate asked of each flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// As fast as possible.
    Max,
    /// Payload bits per second.
    Limit(BitRate),
}

impl Rate {
    /// The limit; `None` for as fast as possible.
    #[must_use]
    pub const fn limit(self) -> Option<BitRate> {
        match self {
            Self::Max => None,
            Self::Limit(rate) => Some(rate),
        }
    }

    /// `true` where TCP segments are so far apart that a receiver that delays its acknowledgements, as usual, adds more to a round trip
    /// than most queues: a segment waits for the next one, or for up to 40 ms (`TCP_DELACK_MIN`, include/net/tcp.h).
    #[must_use]
    pub fn has_sparse_segments(self) -> bool {
        self.limit().is_some_and(|rate| rate <= MAX_SPARSE_RATE)
    }
}

/// The way a UDP sender with a rate waits for the next departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Awake for the last part of each wait: departures are as even as the machine allows, at the cost of processor time.
    Precise,
    /// Asleep until the usual wake-up error before a departure: departures are a little less even, and cost little.
    Balanced,
}

impl Pacing {
    /// `precise` or `balanced`, as flags and JSON write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Precise => "precise",
            Self::Balanced => "balanced",
        }
    }
}

/// One socket pair of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct PlannedFlow {
    /// Its number, counted from 0 over all directions.
    pub id: u32,
    /// Its direction.
    pub direction: Direction,
}
