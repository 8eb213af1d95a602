//! The times of two cells as a ratio.

use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time of one cell as a multiple of another's, which transfers the same content.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferRatio {
    /// The position of the cell among the cells, from 0.
    pub cell: u32,
    /// The position of the cell that it is compared with.
    pub reference: u32,
    /// The geometric mean of the ratios of their times in the blocks that have both, with its interval.
    pub time: Estimate,
}
