//! The result of a search for the highest rate.

use crate::search::{SearchOutcome, SearchTrial};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a search for the highest rate with at most a given loss, with its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    /// The fraction of datagrams that may be lost.
    pub loss_limit: f64,
    /// The confidence of the trials' intervals.
    pub confidence: f64,
    /// The rates found.
    #[serde(flatten)]
    pub found: SearchOutcome,
    /// The trials, in their order.
    pub trials: Vec<SearchTrial>,
}
