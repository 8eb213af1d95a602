//! The comparison of two sides as a value.

use caudal_core::quantity::Unit;
use caudal_stats::{Contrast, NotComparable, SideSummary};
use serde::Serialize;
use std::collections::BTreeMap;

use super::conditions::ConditionDifference;
use super::regression::{MetricRegression, Regression};
use super::side::LeftOutReason;
use super::within_run::WithinRunDifference;

/// The name and version of the document's format.
pub const COMPARISON_SCHEMA: &str = "caudal.comparison/1";

/// A metric of a case on both sides.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedMetric {
    /// The case of a study; empty for runs by themselves.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub case: String,
    /// The metric.
    pub metric: String,
    /// Its unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// The results of the first side.
    pub first: Option<SideSummary>,
    /// The results of the second side.
    pub second: Option<SideSummary>,
    /// The difference between both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Contrast>,
    /// The reason why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cannot: Option<NotComparable>,
    /// The difference of single runs by the intervals within them, where these can be relied on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_run: Option<WithinRunDifference>,
    /// The reason why single runs have no such difference.
    #[serde(skip)]
    pub no_within_run: Option<&'static str>,
    /// The check for a regression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regression: Option<MetricRegression>,
    /// The difference in a sentence.
    pub verdict: String,
}

impl ComparedMetric {
    /// `true` where one run a side is all there is, and nothing within the two tells how far apart they are.
    #[must_use]
    pub fn is_of_single_runs(&self) -> bool {
        let single = NotComparable::TooFew {
            first: 1,
            second: 1,
        };
        self.within_run.is_none() && self.cannot == Some(single)
    }

    /// The name: the case, where there is one, and the metric.
    #[must_use]
    pub fn name(&self) -> String {
        metric_name(&self.case, &self.metric)
    }
}

/// The name of a metric of a case; the case is empty for runs by themselves.
#[must_use]
pub fn metric_name(case: &str, metric: &str) -> String {
    if case.is_empty() {
        metric.to_owned()
    } else {
        format!("{case}: {metric}")
    }
}

/// The description of a side.
#[derive(Debug, Clone, Serialize)]
pub struct SideDescription {
    /// The selection as given.
    pub given: String,
    /// The number of its runs and studies, in words.
    pub what: String,
    /// The ids of its runs and studies.
    pub ids: Vec<String>,
    /// The number of runs left out, by the reason.
    pub left_out: BTreeMap<LeftOutReason, usize>,
}

/// The metrics that only one side has.
#[derive(Debug, Clone, Serialize)]
pub struct UnmatchedMetrics {
    /// Those of the first side.
    pub first: Vec<String>,
    /// Those of the second side.
    pub second: Vec<String>,
    /// Of those of the first side, the ones that are checked for a regression.
    #[serde(skip)]
    pub checked: Vec<String>,
}

/// The comparison of two sides: the document `caudal.comparison/1`.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// [`COMPARISON_SCHEMA`].
    pub schema: &'static str,
    /// The confidence of intervals and verdicts.
    pub confidence: f64,
    /// The fraction of the first side's mean within which both count as equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The check for a regression, where one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regression: Option<Regression>,
    /// The first side.
    pub first: SideDescription,
    /// The second side.
    pub second: SideDescription,
    /// The metrics that both sides have.
    pub cells: Vec<ComparedMetric>,
    /// Those that only one has.
    pub unmatched: UnmatchedMetrics,
    /// The conditions in which the sides differ.
    pub environment: Vec<ConditionDifference>,
    /// Remarks.
    pub notes: Vec<String>,
    /// The result in a sentence or two.
    pub verdict: Vec<String>,
}
