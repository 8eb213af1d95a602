//! Whether the load of a phase filled the path: the delay that it adds says something about the queues only then.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the load of a direction filled the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FillVerdict {
    /// It did.
    Filled,
    /// Something else than the path limited it.
    NotFilled,
    /// The measurements do not show it.
    CannotTell,
}

/// Whether the load of a direction filled the path, and the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathFill {
    /// Whether it did.
    pub verdict: FillVerdict,
    /// The evidence, as text.
    pub evidence: String,
}

impl PathFill {
    /// A verdict by this evidence.
    pub fn new(verdict: FillVerdict, evidence: impl Into<String>) -> Self {
        Self {
            verdict,
            evidence: evidence.into(),
        }
    }

    /// `true` when the load filled the path.
    #[must_use]
    pub fn is_filled(&self) -> bool {
        self.verdict == FillVerdict::Filled
    }
}
