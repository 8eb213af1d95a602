//! The things that limit flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The thing that limited a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// The network: the congestion window (TCP), or loss before the receiving socket (UDP).
    Network,
    /// The window the receiver advertises.
    ReceiverWindow,
    /// The sender's socket buffer.
    SendBuffer,
    /// The rate that was asked for.
    Pacing,
    /// The sending application, or its processor.
    Sender,
    /// The receiving application, or its processor.
    Receiver,
    /// The measurements do not show it.
    Unknown,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Network => "the network",
            Self::ReceiverWindow => "the receiver's window",
            Self::SendBuffer => "the send buffer",
            Self::Pacing => "the rate asked for (pacing)",
            Self::Sender => "the sending application or its CPU",
            Self::Receiver => "the receiving application or its CPU",
            Self::Unknown => "cannot tell",
        })
    }
}

/// The way in which the network, a sender or a receiver limited a flow, where the measurements show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The network: the rate of its slowest link.
    LinkRate,
    /// The network: the same, with a queue before that link that delays everything by more than it needs to.
    Bufferbloat,
    /// The network: losses without a queue, at random.
    RandomLoss,
    /// The network: segments that overtook others, which TCP took for lost.
    Reordering,
    /// The network: losses without a queue, of what exceeds a rate.
    Policer,
    /// The network: packets marked CE by a queue, to which the congestion control answers as to losses (ECN).
    CongestionMarks,
    /// The network: the test ended before slow start had filled it.
    SlowStart,
    /// The network: nothing passed for a time.
    Outage,
    /// The network: segments of full size are lost without a word.
    MtuBlackHole,
    /// A rate that was asked for: the server lowered it to what it allows.
    ServerLimit,
    /// A sender or receiver: its program stood still for a time.
    Stopped,
    /// A sender or receiver: its thread was short of processor time.
    Cpu,
    /// A sender or receiver: the application had nothing to send, or did not read.
    Application,
}

/// The bottleneck of a flow or a direction, and the evidence for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitedBy {
    /// The bottleneck.
    pub limit: Bottleneck,
    /// The way in which it limited the flow; absent where the measurements do not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The evidence, as text.
    pub evidence: String,
}

impl LimitedBy {
    /// A bottleneck by this evidence.
    pub fn new(limit: Bottleneck, evidence: impl Into<String>) -> Self {
        Self {
            limit,
            cause: None,
            evidence: evidence.into(),
        }
    }

    /// A bottleneck with the way in which it limited the flow, by this evidence.
    pub fn because(cause: Cause, limit: Bottleneck, evidence: impl Into<String>) -> Self {
        Self {
            cause: Some(cause),
            ..Self::new(limit, evidence)
        }
    }

    /// A bottleneck that cannot be determined, and the reason.
    #[must_use]
    pub fn unknown(why: &str) -> Self {
        Self::new(Bottleneck::Unknown, why)
    }

    /// The same, where a rate that was reached is the server's instead of the client's.
    #[must_use]
    pub fn at_rate_of_server(self, is_servers: bool) -> Self {
        let is_pacing = self.limit == Bottleneck::Pacing && self.cause.is_none();
        Self {
            cause: (is_servers && is_pacing)
                .then_some(Cause::ServerLimit)
                .or(self.cause),
            ..self
        }
    }

    /// `true` when the evidence is that a thread was short of processor time.
    #[must_use]
    pub fn is_out_of_cpu(&self) -> bool {
        self.cause == Some(Cause::Cpu)
    }

    /// The bottleneck with its cause, as text.
    #[must_use]
    pub fn name(&self) -> String {
        let name = match (self.limit, self.cause) {
            (Bottleneck::Network, Some(Cause::LinkRate)) => "the network (the rate of a link)",
            (Bottleneck::Network, Some(Cause::Bufferbloat)) => {
                "the network (the rate of a link, with bufferbloat)"
            }
            (Bottleneck::Network, Some(Cause::RandomLoss)) => "the network (random loss)",
            (Bottleneck::Network, Some(Cause::Reordering)) => {
                "the network (reordering, taken for loss)"
            }
            (Bottleneck::Network, Some(Cause::Policer)) => "the network (a policer)",
            (Bottleneck::Network, Some(Cause::CongestionMarks)) => {
                "the network (a queue that marks congestion)"
            }
            (Bottleneck::Network, Some(Cause::SlowStart)) => "the network (slow start)",
            (Bottleneck::Network, Some(Cause::Outage)) => "the network (an outage)",
            (Bottleneck::Network, Some(Cause::MtuBlackHole)) => "the network (an MTU black hole)",
            (Bottleneck::Sender, Some(Cause::Stopped)) => "the sending program, which stood still",
            (Bottleneck::Receiver, Some(Cause::Stopped)) => {
                "the receiving program, which stood still"
            }
            (Bottleneck::Pacing, Some(Cause::ServerLimit)) => {
                "the rate that the server allows (its --max-rate)"
            }
            (Bottleneck::Sender, Some(Cause::Cpu)) => "the sender's CPU",
            (Bottleneck::Sender, Some(Cause::Application)) => "the sending application",
            (Bottleneck::Receiver, Some(Cause::Cpu)) => "the receiver's CPU",
            (Bottleneck::Receiver, Some(Cause::Application)) => "the receiving application",
            (limit, _) => return limit.to_string(),
        };
        name.to_owned()
    }
}
