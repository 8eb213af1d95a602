//! The advice on a network by the latency of its load, as documents carry it.

use crate::plan::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdviceCode {
    /// No direction has a long queue.
    ShortQueues,
    /// The queue of the sender's own interface is long.
    OwnQueue,
    /// A queue on the path is long.
    PathQueue,
    /// A queue on the path is long, and only with load in the other direction as well.
    PathQueueBoth,
    /// Probes are lost without load.
    IdleLoss,
    /// There is no idle phase, or no reply in it, to compare with.
    NoBaseline,
    /// The path serves UDP or TCP before the other.
    ServedFirst,
    /// The load of a direction did not fill the path, or it cannot be told whether it did.
    PathNotFilled,
    /// The link is slow: a packet takes a long time on it, and a queue seconds.
    SlowLink,
}

/// What was found, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The stable name, for programs.
    pub code: AdviceCode,
    /// The direction of the load whose queue it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// What was found, with the figures of this run.
    pub finding: String,
    /// What to do.
    pub remedy: String,
}
