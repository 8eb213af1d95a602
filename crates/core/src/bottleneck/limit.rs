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

/// The bottleneck of a flow or a direction, and the evidence for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitedBy {
    /// The bottleneck.
    pub limit: Bottleneck,
    /// The evidence, as text.
    pub evidence: String,
    /// `true` when the evidence is that a thread was short of processor time.
    #[serde(skip)]
    pub out_of_cpu: bool,
}

impl LimitedBy {
    pub(super) fn new(limit: Bottleneck, evidence: impl Into<String>) -> Self {
        Self {
            limit,
            evidence: evidence.into(),
            out_of_cpu: false,
        }
    }

    /// A bottleneck that cannot be determined, and the reason.
    #[must_use]
    pub fn unknown(why: &str) -> Self {
        Self::new(Bottleneck::Unknown, why)
    }
}
