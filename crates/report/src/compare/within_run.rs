//! The comparison of two single runs by the intervals within them.

use caudal_stats::{Estimate, difference_interval};
use serde::Serialize;

/// The result of a single run with the interval that its own samples give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WithinRunEstimate {
    /// The result.
    pub estimate: Estimate,
    /// `true` when the interval can be relied on: there are enough batches, and they are not correlated.
    pub is_trusted: bool,
}

/// The difference between two single runs, with the interval that follows from the samples within them. It does not contain the variation from
/// run to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WithinRunDifference {
    /// The second result minus the first.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The confidence of the intervals within the runs.
    pub confidence: f64,
}

impl WithinRunDifference {
    /// The difference of two results whose intervals can be relied on, at `confidence` or above.
    ///
    /// # Errors
    /// The reason why these intervals do not decide.
    pub fn between(
        first: Option<&WithinRunEstimate>,
        second: Option<&WithinRunEstimate>,
        confidence: f64,
    ) -> Result<Self, &'static str> {
        let (Some(first), Some(second)) = (first, second) else {
            return Err("this metric has no interval within a run");
        };
        match (first.is_trusted, second.is_trusted) {
            (true, true) => {}
            (false, true) => return Err("the interval within A cannot be relied on"),
            (true, false) => return Err("the interval within B cannot be relied on"),
            (false, false) => return Err("the intervals within them cannot be relied on"),
        }
        let lower = first.estimate.confidence.min(second.estimate.confidence);
        if lower < confidence - 1e-9 {
            return Err("the intervals within them are of a lower confidence");
        }
        let (low, high) = difference_interval(&first.estimate, &second.estimate);
        Ok(Self {
            mean: second.estimate.mean - first.estimate.mean,
            low,
            high,
            confidence: lower,
        })
    }
}
