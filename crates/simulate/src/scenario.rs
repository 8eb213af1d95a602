//! Which flows cross a topology, and for how long.

use std::time::Duration;

use caudal_core::framing::Framing;
use caudal_core::units::{BitRate, ByteCount};
use serde::{Deserialize, Serialize};

use crate::tcp::TcpSettings;

/// The most flows of a scenario.
pub const MAX_FLOWS: usize = 10_000;
/// The longest run: 100 days.
pub(crate) const LONGEST: Duration = Duration::from_secs(8_640_000);
/// The most intervals that are kept.
pub(crate) const MAX_INTERVALS: u64 = 100_000;

/// Flows and how long they are watched.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// The flows.
    pub flows: Vec<Flow>,
    /// How long the run lasts in virtual time.
    pub duration: Duration,
    /// The length of the intervals in which goodput is told.
    pub interval: Duration,
    /// The most by which a host sends a packet later than it would, each as likely; packets keep their order.
    ///
    /// Hosts that are exact to the nanosecond fall into step, and one of them then finds every place in a queue taken.
    ///
    /// Source: Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992.
    pub lateness: Duration,
    /// Where the chance of sources and hosts begins; that of links is the topology's.
    pub seed: u64,
    /// Frames and timers after which the run is cut short, so that it ends whatever it is asked.
    pub event_limit: u64,
}

impl Scenario {
    /// `flows` for `duration`, told every second, with seed 1 and up to 200 million events.
    ///
    /// A single flow has nobody to fall into step with, and its hosts are exact; those of several are up to 100 µs late.
    #[must_use]
    pub fn of(flows: Vec<Flow>, duration: Duration) -> Self {
        let lateness = if flows.len() > 1 {
            Duration::from_micros(100)
        } else {
            Duration::ZERO
        };
        Self {
            flows,
            duration,
            lateness,
            interval: Duration::from_secs(1),
            seed: 1,
            event_limit: 200_000_000,
        }
    }
}

/// Traffic from one host or router to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// The node it begins at, by its name in the topology.
    pub from: String,
    /// The node it leads to.
    pub to: String,
    /// When it begins.
    pub start: Duration,
    /// When its application stops sending; `None` when it goes on to the end or until all is sent.
    pub stop: Option<Duration>,
    /// What it is.
    pub traffic: Traffic,
}

impl Flow {
    /// `traffic` between two nodes from the begin to the end of the run.
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

    /// The same flow, beginning at `start`.
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

/// What a flow is.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// A TCP transfer of so many bytes, or without an end.
    Tcp {
        /// How the connection is set.
        settings: TcpSettings,
        /// What is transferred.
        bytes: Option<ByteCount>,
    },
    /// Datagrams that nothing slows down.
    Udp(UdpSource),
    /// Messages that come back, one after the other.
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

/// A source of datagrams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UdpSource {
    /// Headers and the largest packet; a link with a smaller MTU lowers it.
    pub framing: Framing,
    /// Payload of a datagram in bytes; what does not fit a packet crosses in IP fragments.
    pub payload: u32,
    /// When they leave.
    pub pattern: Pattern,
}

/// When datagrams leave; rates are of payload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Evenly.
    Constant(BitRate),
    /// As a Poisson process with this mean rate.
    Poisson(BitRate),
    /// Evenly at a rate in times of exponential length, with silence of exponential length between them.
    OnOff {
        /// The rate while it sends.
        rate: BitRate,
        /// The mean length of a time in which it sends.
        on: Duration,
        /// The mean length of a silence.
        off: Duration,
    },
}

impl Pattern {
    /// The rate while it sends.
    #[must_use]
    pub const fn rate(&self) -> BitRate {
        match self {
            Self::Constant(rate) | Self::Poisson(rate) | Self::OnOff { rate, .. } => *rate,
        }
    }
}

/// What carries an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EchoOver {
    /// Datagrams; an answer that does not come within a second is lost.
    Udp(Framing),
    /// One connection.
    Tcp(TcpSettings),
}

/// A client that sends a message, waits for it to come back whole, and sends the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoClient {
    /// What carries it.
    pub over: EchoOver,
    /// Bytes of a message.
    pub message: u32,
    /// How many; `None` until the flow stops.
    pub exchanges: Option<u64>,
    /// From an answer to the next message.
    pub pause: Duration,
}
