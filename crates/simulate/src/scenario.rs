//! Scenarios: the flows that cross a topology, and for how long.

use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::units::{BitRate, ByteCount};
use serde::{Deserialize, Serialize};

use crate::tcp::TcpSettings;

/// Maximum number of flows of a scenario.
pub const MAX_FLOWS: usize = 10_000;
/// The longest simulated time: 100 days.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(8_640_000);
/// Maximum number of intervals.
pub(crate) const MAX_INTERVALS: u64 = 100_000;

/// Flows and the simulated time.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The flows.
    pub flows: Vec<SimFlow>,
    /// The simulated time.
    pub duration: Duration,
    /// The length of the intervals for which goodput is given.
    pub interval: Duration,
    /// The maximum of a uniform random delay of each packet in the host that sends it; packets keep their order.
    ///
    /// Without it, hosts that send at exact times synchronise, and all losses at a full queue hit one of them.
    ///
    /// Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992.
    pub host_jitter: Duration,
    /// The seed of the random numbers of sources and hosts; those of links have the topology's.
    pub seed: u64,
    /// The number of events, frames and timers, after which the simulation is cut short, so that it always ends.
    pub event_limit: u64,
}

impl Scenario {
    /// `flows` for `duration`, in intervals of a second, with seed 1 and up to 200 million events.
    ///
    /// Several flows have a host jitter of 100 µs; a single one has nothing to synchronise with, and none.
    #[must_use]
    pub fn new(flows: Vec<SimFlow>, duration: Duration) -> Self {
        let host_jitter = if flows.len() > 1 {
            Duration::from_micros(100)
        } else {
            Duration::ZERO
        };
        Self {
            flows,
            duration,
            host_jitter,
            interval: Duration::from_secs(1),
            seed: 1,
            event_limit: 200_000_000,
        }
    }
}

/// A flow from one host or router to another.
#[derive(Debug, Clone, PartialEq)]
pub struct SimFlow {
    /// The name of the node where it starts.
    pub from: String,
    /// The name of the node where it ends.
    pub to: String,
    /// Its start time.
    pub start: Duration,
    /// The time at which its application stops sending; `None` when it sends until the end or until everything is sent.
    pub stop: Option<Duration>,
    /// The kind of traffic.
    pub traffic: Traffic,
}

impl SimFlow {
    /// `traffic` between two nodes for the whole simulated time.
    #[must_use]
    pub fn between(from: impl Into<String>, to: impl Into<String>, traffic: Traffic) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            start: Duration::ZERO,
            stop: None,
            traffic,
        }
    }

    /// The same flow, starting at `start`.
    #[must_use]
    pub fn starting(mut self, start: Duration) -> Self {
        self.start = start;
        self
    }

    /// The same flow, stopping at `stop`.
    #[must_use]
    pub fn stopping(mut self, stop: Duration) -> Self {
        self.stop = Some(stop);
        self
    }
}

/// The kind of traffic of a flow.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// A TCP transfer.
    Tcp {
        /// The settings of the connection.
        settings: TcpSettings,
        /// The number of bytes; `None` for a transfer without an end.
        bytes: Option<ByteCount>,
    },
    /// Datagrams, without any congestion control.
    Udp(UdpSource),
    /// Messages that are echoed, one after the other.
    Echo(EchoClient),
}

impl Traffic {
    /// A TCP transfer without an end.
    #[must_use]
    pub const fn tcp(settings: TcpSettings) -> Self {
        Self::Tcp {
            settings,
            bytes: None,
        }
    }
}

/// A source of UDP datagrams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UdpSource {
    /// The headers and the largest packet; links with a smaller MTU lower it.
    pub framing: Framing,
    /// The payload of a datagram in bytes; datagrams larger than a packet are sent in IP fragments.
    pub payload: u32,
    /// The departure times.
    pub pattern: Pattern,
}

/// The departure times of datagrams; rates are of payload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Constant bit rate.
    Constant(BitRate),
    /// A Poisson process with this mean rate.
    Poisson(BitRate),
    /// On-off: constant bit rate during on periods, silence during off periods, both of exponential length.
    OnOff {
        /// The rate during on periods.
        rate: BitRate,
        /// The mean length of on periods.
        on: Duration,
        /// The mean length of off periods.
        off: Duration,
    },
}

impl Pattern {
    /// The rate, of an on-off pattern that during on periods.
    #[must_use]
    pub const fn rate(&self) -> BitRate {
        match self {
            Self::Constant(rate) | Self::Poisson(rate) | Self::OnOff { rate, .. } => *rate,
        }
    }
}

/// The transport of an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EchoTransport {
    /// UDP; a message without an answer within a second is lost.
    Udp(Framing),
    /// One TCP connection.
    Tcp(TcpSettings),
}

/// A client that sends a message, waits until all of it has been echoed, and sends the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoClient {
    /// The transport.
    pub transport: EchoTransport,
    /// The length of a message in bytes.
    pub message: u32,
    /// The number of messages; `None` sends until the flow stops.
    pub exchanges: Option<u64>,
    /// The time from an answer to the next message.
    pub pause: Duration,
}
