//! How much a finding matters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Something is broken, or slows a flow down.
    Problem,
    /// Something unusual that may explain a result.
    Notice,
    /// Something to know when reading the numbers.
    Information,
}
