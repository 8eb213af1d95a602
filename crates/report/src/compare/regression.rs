//! The outcome of a check for a regression: whether the second side is worse than the first by more than a margin.

use caudal_stats::Estimate;
use serde::Serialize;

/// The outcome of the check for a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegressionOutcome {
    /// The second side is shown not to be worse by more than the margin.
    NotWorse,
    /// The second side is shown to be worse by more than the margin.
    Worse,
    /// Neither is shown.
    CannotTell,
}

/// What the outcome rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegressionEvidence {
    /// The spread of several runs a side.
    BetweenRuns,
    /// The intervals within one run a side, which do not contain the variation from run to run.
    WithinRun,
}

/// The check of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricRegression {
    /// The outcome.
    pub outcome: RegressionOutcome,
    /// What it rests on; absent where nothing could be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<RegressionEvidence>,
    /// The change for the worse, in the unit of the metric, with its interval; below zero for the better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worsening: Option<Estimate>,
    /// The margin, in the unit of the metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// The p-value of a change beyond the margin, adjusted for the number of metrics; absent without an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjusted_p: Option<f64>,
    /// The number of runs a side that would probably decide; absent where it is decided, and where no number would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs_needed: Option<u64>,
    /// The outcome and its reason, in a sentence.
    pub reason: String,
}

/// The check of all metrics together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Regression {
    /// `worse` when any metric is, else `cannot_tell` when one cannot be determined, else `not_worse`.
    pub outcome: RegressionOutcome,
    /// The margin, as a fraction of the first side's mean.
    pub margin: f64,
    /// The number of metrics that are worse.
    pub worse: usize,
    /// The number of metrics that cannot be determined.
    pub cannot_tell: usize,
    /// The number of metrics that are not worse.
    pub not_worse: usize,
    /// The outcome and its reason, in a sentence.
    pub reason: String,
}
