//! Whether the latest tests of a path are worse than those before, by the rule of `caudal report compare`.

use caudal_report::compare::{CompareOptions, RegressionOutcome, Side, compare_sides};
use caudal_store::{Filter, Store, StoreError};

/// The tests on the one side and on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AlertRule {
    /// The latest tests.
    pub(super) recent: usize,
    /// The tests before these.
    pub(super) baseline: usize,
}

impl AlertRule {
    /// Minimum number of tests a side that a comparison decides on.
    const MIN_BASELINE: usize = 5;
}

/// The settings of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AlertMargin {
    /// The part of the usual value by which the latest tests have to be worse.
    pub(super) margin: f64,
    /// The confidence.
    pub(super) confidence: f64,
}

/// The state of the alert of one path.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PathAlert {
    /// The runs that the latest are compared with while the alert is raised: those before the change, and not what came since.
    baseline: Option<Vec<String>>,
}

/// What a comparison changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AlertChange {
    /// Nothing.
    Same,
    /// The path has become worse: how.
    Raised(String),
    /// It is no longer worse.
    Resolved,
}

impl PathAlert {
    /// `true` while it is raised.
    pub(super) const fn is_raised(&self) -> bool {
        self.baseline.is_some()
    }

    /// Compares the latest completed runs with this tag with those before.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn update(
        &mut self,
        store: &Store,
        tag: &str,
        rule: AlertRule,
        margin: AlertMargin,
    ) -> Result<AlertChange, StoreError> {
        let filter = Filter {
            tag: Some(tag.to_owned()),
            limit: Some(10 * (rule.recent + rule.baseline)),
            ..Filter::default()
        };
        let entries = store.list(&filter)?;
        let done = entries.into_iter().filter(|entry| entry.outcome == "done");
        let ids: Vec<String> = done.map(|entry| entry.id).collect();
        if ids.len() < rule.recent {
            return Ok(AlertChange::Same);
        }
        let (recent, before) = ids.split_at(rule.recent);
        let baseline = match &self.baseline {
            Some(baseline) => baseline.clone(),
            None => before.iter().take(rule.baseline).cloned().collect(),
        };
        if baseline.len() < AlertRule::MIN_BASELINE {
            return Ok(AlertChange::Same);
        }
        let side = |ids: &[String]| Side::load(&ids.join(","), Some(store)).ok();
        let (Some(first), Some(second)) = (side(&baseline), side(recent)) else {
            return Ok(AlertChange::Same);
        };
        let options = CompareOptions {
            metrics: Vec::new(),
            margin: None,
            max_worsening: Some(margin.margin),
            confidence: margin.confidence,
        };
        let regression = compare_sides(&first, &second, &options)
            .ok()
            .and_then(|comparison| comparison.regression);
        let Some(regression) = regression else {
            return Ok(AlertChange::Same);
        };
        Ok(match (regression.outcome, self.is_raised()) {
            (RegressionOutcome::Worse, false) => {
                self.baseline = Some(baseline);
                AlertChange::Raised(format!(
                    "the latest {} tests (B) against those before (A): {}",
                    rule.recent, regression.reason
                ))
            }
            (RegressionOutcome::NotWorse, true) => {
                self.baseline = None;
                AlertChange::Resolved
            }
            _ => AlertChange::Same,
        })
    }
}
