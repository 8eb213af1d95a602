//! The result of a search.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rates between which a search has found the highest that holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchOutcome {
    /// The highest rate that held, bit/s of payload; `None` when none did.
    pub rate_bps: Option<u64>,
    /// The lowest rate that failed, bit/s; `None` when none did.
    pub failed_bps: Option<u64>,
    /// `true` when the sender, not the path, limited the search: it did not reach the next rate up.
    pub sender_bound: bool,
    /// `true` when a point estimate decided on one of the rates the answer lies between.
    pub undecided: bool,
}
