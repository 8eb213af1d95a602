//! The trials of a search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The outcome of a trial at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrialOutcome {
    /// The loss is within the limit, and payload arrived as fast as it was sent.
    Held,
    /// The loss is beyond the limit.
    Failed,
    /// The loss is within the limit, but less arrived than was sent: a queue was still filling.
    Queueing,
    /// The sender did not reach the rate: it is too high to send, and nothing else is known about it.
    Unreached,
    /// The interval contains the limit: the rate is tried again.
    Undecided,
}

impl TrialOutcome {
    /// The outcome as JSON and CSV write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Queueing => "queueing",
            Self::Unreached => "unreached",
            Self::Undecided => "undecided",
        }
    }

    /// The outcome for people.
    #[must_use]
    pub const fn in_text(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Queueing => "filled a queue",
            Self::Unreached => "not reached",
            Self::Undecided => "repeated",
        }
    }
}

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchTrial {
    /// The rate tried, bit/s of payload.
    pub rate_bps: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams lost.
    pub lost: u64,
    /// The fraction lost, over all trials of this rate so far.
    pub loss: f64,
    /// The lower end of Wilson's interval of that.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The outcome.
    pub outcome: TrialOutcome,
}
