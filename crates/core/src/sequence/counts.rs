//! The counters of numbered datagrams.

use super::periods::LossPeriods;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The final counts of a flow of numbered datagrams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceCounts {
    /// Numbers accounted for, `received + lost + late`: what was sent, or up to the highest received where that is more.
    pub expected: u64,
    /// Distinct datagrams that arrived within the window.
    pub received: u64,
    /// Numbers that never arrived.
    pub lost: u64,
    /// Datagrams whose number had been received already; not part of `received`.
    pub duplicate: u64,
    /// Received datagrams that were overtaken by one with a larger number (RFC 4737 section 3.3).
    pub reordered: u64,
    /// Datagrams that arrived more than the window behind the highest number; neither received nor lost.
    pub late: u64,
    /// Datagrams whose number is implausible; ignored.
    pub absurd: u64,
    /// The largest number received; `None` when nothing was.
    pub highest: Option<u64>,
    /// The largest reordering extent in datagrams (RFC 4737 section 4.2.2); zero without reordering.
    pub reorder_extent_max: u64,
    /// Datagrams that arrived directly after three with larger numbers, which TCP would take for lost.
    ///
    /// Source: n-reordering with n = 3, RFC 4737 section 5.4.
    pub n_reordering: u64,
    /// The runs of consecutive missing numbers, late ones included.
    pub loss_runs: LossRuns,
    /// The longest of these in their places, and what their distances say.
    #[serde(default, skip_serializing_if = "LossPeriods::is_empty")]
    #[schemars(skip)]
    pub periods: LossPeriods,
}

impl SequenceCounts {
    /// The counts of a receiver of which only totals are known: `expected` datagrams, `lost` of which never arrived.
    #[must_use]
    pub fn from_totals(expected: u64, lost: u64) -> Self {
        Self {
            expected,
            received: expected.saturating_sub(lost),
            lost,
            duplicate: 0,
            reordered: 0,
            late: 0,
            absurd: 0,
            highest: expected.checked_sub(1),
            reorder_extent_max: 0,
            n_reordering: 0,
            loss_runs: LossRuns::default(),
            periods: LossPeriods::default(),
        }
    }
}

/// The lengths of runs of consecutive missing numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LossRuns {
    /// Runs.
    pub count: u64,
    /// Mean length of a run in datagrams; `None` without a run.
    pub mean: Option<f64>,
    /// Length of the longest run in datagrams; zero without a run.
    pub max: u64,
    /// Element k counts the runs of 2^k up to 2^(k+1) - 1 datagrams; ends with the longest.
    pub histogram: Vec<u64>,
}
