//! The comparison of two sides.

use caudal_stats::{
    Contrast, NotComparable, RunOrder, SideSummary, TimedValue, adjust_for_multiple_comparisons,
    contrast,
};
use std::collections::BTreeSet;

use super::comparison::{
    COMPARISON_SCHEMA, ComparedMetric, Comparison, SideDescription, UnmatchedMetrics, metric_name,
};
use super::direction::is_decided;
use super::format::trimmed;
use super::regression::Regression;
use super::regression_check::check_regressions;
use super::side::{MetricKey, Side};
use super::verdict::verdict;
use super::within_run::WithinRunDifference;

/// Maximum number of metrics that an error names.
const MAX_NAMED: usize = 6;

/// The options of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// The metrics, by their full names or the last part of them; all when empty.
    pub metrics: Vec<String>,
    /// The fraction of the first side's mean within which both count as equal.
    pub margin: Option<f64>,
    /// The fraction of the first side's mean by which the second may be worse; no check for a regression when `None`.
    pub max_worsening: Option<f64>,
    /// The confidence of intervals and verdicts.
    pub confidence: f64,
}

impl CompareOptions {
    /// `true` for a metric that is to be compared.
    fn selects(&self, key: &MetricKey) -> bool {
        let mut selected = self.metrics.iter();
        self.metrics.is_empty() || selected.any(|name| is_named(key, name))
    }

    /// `true` for a metric that the check for a regression decides: every one that was chosen, else the results.
    fn checks(&self, metric: &str) -> bool {
        !self.metrics.is_empty() || is_decided(metric)
    }
}

/// `true` when `name` is the metric's full name, its last part, or the first word of that.
fn is_named(key: &MetricKey, name: &str) -> bool {
    let last = key.metric.rsplit('.').next().unwrap_or("");
    let first_word = last.split(' ').next().unwrap_or("");
    [key.metric.as_str(), last, first_word].contains(&name)
}

/// Checks that one of the sides has every metric that was asked for.
fn check_metrics(
    first: &Side,
    second: &Side,
    options: &CompareOptions,
) -> Result<(), CompareError> {
    let names = |side: &Side| side.readings.keys().cloned().collect::<BTreeSet<_>>();
    let (a, b) = (names(first), names(second));
    let is_absent = |name: &&String| !a.iter().chain(&b).any(|key| is_named(key, name));
    match options.metrics.iter().find(is_absent) {
        Some(asked) => Err(CompareError::NoSuchMetric {
            asked: asked.clone(),
            first: metric_list(&a),
            second: metric_list(&b),
        }),
        None => Ok(()),
    }
}

/// The reason why two sides cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// Neither has a metric that was asked for.
    #[error("neither side has the metric {asked}: A has {first}, B has {second}")]
    NoSuchMetric {
        /// The metric asked for.
        asked: String,
        /// Metrics of the first side.
        first: String,
        /// Metrics of the second side.
        second: String,
    },
    /// They have no metric in common.
    #[error("the two have nothing in common to compare: A has {first}, B has {second}")]
    NothingInCommon {
        /// Metrics of the first side.
        first: String,
        /// Metrics of the second side.
        second: String,
    },
}

/// The names of some metrics for an error.
fn metric_list(keys: &BTreeSet<MetricKey>) -> String {
    let names: BTreeSet<&str> = keys.iter().map(|key| key.metric.as_str()).collect();
    if names.is_empty() {
        return "nothing".to_owned();
    }
    names
        .into_iter()
        .take(MAX_NAMED)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Compares two sides.
///
/// # Errors
/// When they have no metric in common, or none that was asked for.
pub fn compare_sides(
    first: &Side,
    second: &Side,
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    check_metrics(first, second, options)?;
    let keys = |side: &Side| -> BTreeSet<MetricKey> {
        let selected = side.readings.keys().filter(|key| options.selects(key));
        selected.cloned().collect()
    };
    let (a, b) = (keys(first), keys(second));
    if a.is_disjoint(&b) {
        // Messages of one size each, such as those of ping, are compared beside their difference in size.
        if let (Some((a, size)), Some((b, other))) = (first.without_size(), second.without_size())
            && size != other
        {
            let mut comparison = compare_sides(&a, &b, options)?;
            let note = format!("messages of {size} in A, of {other} in B");
            comparison.notes.insert(0, note);
            return Ok(comparison);
        }
        return Err(CompareError::NothingInCommon {
            first: metric_list(&a),
            second: metric_list(&b),
        });
    }
    let both: Vec<&MetricKey> = a.intersection(&b).collect();
    let (cells, count) = compared_metrics(&both, first, second, options);
    let alone = |ours: &BTreeSet<MetricKey>, theirs: &BTreeSet<MetricKey>| {
        let alone = ours
            .difference(theirs)
            .map(|key| metric_name(&key.case, &key.metric));
        alone.collect::<Vec<_>>()
    };
    let missing: Vec<String> = a
        .difference(&b)
        .filter(|key| options.checks(&key.metric))
        .map(|key| metric_name(&key.case, &key.metric))
        .collect();
    let compared = cells.iter().map(|cell| cell.metric.as_str());
    let environment = first.conditions.differences(&second.conditions, compared);
    let mut comparison = Comparison {
        regression: options
            .max_worsening
            .map(|margin| Regression::over(&cells, &missing, margin)),
        schema: COMPARISON_SCHEMA,
        confidence: options.confidence,
        margin: options.margin,
        first: SideDescription::from(first),
        second: SideDescription::from(second),
        unmatched: UnmatchedMetrics {
            first: alone(&a, &b),
            second: alone(&b, &a),
            checked: missing,
        },
        environment,
        notes: Vec::new(),
        verdict: Vec::new(),
        cells,
    };
    comparison.notes = notes(&comparison, first, second, count);
    let decided = comparison.regression.iter();
    let decided = decided.map(|regression| regression.reason.clone());
    comparison.verdict = decided.chain(overall(&comparison)).collect();
    Ok(comparison)
}

impl From<&Side> for SideDescription {
    fn from(side: &Side) -> Self {
        Self {
            given: side.given.clone(),
            what: side.what.clone(),
            ids: side.ids.clone(),
            left_out: side.left_out.clone(),
        }
    }
}

/// The metrics of both sides with their verdicts, and the number of them that could be compared.
fn compared_metrics(
    keys: &[&MetricKey],
    first: &Side,
    second: &Side,
    options: &CompareOptions,
) -> (Vec<ComparedMetric>, usize) {
    let mut cells: Vec<ComparedMetric> = keys
        .iter()
        .map(|key| compared_metric(key, first, second, options))
        .collect();
    let mut found: Vec<&mut Contrast> = cells
        .iter_mut()
        .filter_map(|cell| cell.result.as_mut())
        .collect();
    let count = found.len();
    adjust_for_multiple_comparisons(&mut found, options.confidence);
    for cell in &mut cells {
        cell.verdict = verdict(cell, options.confidence, count);
    }
    if let Some(margin) = options.max_worsening {
        let is_checked = |cell: &ComparedMetric| options.checks(&cell.metric);
        let checks = check_regressions(&cells, margin, options.confidence, is_checked);
        for (cell, check) in cells.iter_mut().zip(checks) {
            cell.regression = check;
        }
    }
    (cells, count)
}

/// A metric of a case on both sides, without its verdict.
fn compared_metric(
    key: &MetricKey,
    first: &Side,
    second: &Side,
    options: &CompareOptions,
) -> ComparedMetric {
    let readings = |side: &Side| side.readings.get(key).cloned().unwrap_or_default();
    let (a, b): (Vec<TimedValue>, Vec<TimedValue>) = (readings(first), readings(second));
    let (unit, other) = (first.units.get(&key.metric), second.units.get(&key.metric));
    let result = if unit == other {
        contrast(&a, &b, options.confidence, options.margin)
    } else {
        Err(NotComparable::Units)
    };
    let single = |side: &Side| {
        side.within_runs
            .get(key)
            .and_then(|all| all.first().copied())
    };
    let (within_run, no_within_run) = if (a.len(), b.len()) == (1, 1) && unit == other {
        let (one, another) = (single(first), single(second));
        let found =
            WithinRunDifference::between(one.as_ref(), another.as_ref(), options.confidence);
        (found.ok(), found.err())
    } else {
        (None, None)
    };
    ComparedMetric {
        within_run,
        no_within_run,
        regression: None,
        case: key.case.clone(),
        metric: key.metric.clone(),
        unit: unit.copied(),
        first: SideSummary::from_results(&a, options.confidence),
        second: SideSummary::from_results(&b, options.confidence),
        cannot: result.as_ref().err().copied(),
        result: result.ok(),
        verdict: String::new(),
    }
}

/// Remarks on the comparison.
fn notes(comparison: &Comparison, first: &Side, second: &Side, count: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if first.ids.iter().any(|id| second.ids.contains(id)) {
        notes.push("the same runs are on both sides".to_owned());
    }
    for (name, side) in [("A", first), ("B", second)] {
        for (why, count) in &side.left_out {
            notes.push(format!("{count} of {name} left out: {why}"));
        }
    }
    if !(first.episodes.is_empty() && second.episodes.is_empty()) {
        let (a, b) = (&first.episodes, &second.episodes);
        notes.push(format!("episodes: A {a}; B {b}"));
    }
    if count > 1 {
        let alpha = trimmed((1.0 - comparison.confidence) * 100.0);
        notes.push(format!(
            "{count} comparisons at once: a difference counts when the probability of any false one is below {alpha} % (Holm)"
        ));
    }
    let found = || {
        comparison
            .cells
            .iter()
            .filter_map(|cell| Some((cell, cell.result?)))
    };
    let suspected: Vec<String> = found()
        .filter(|(_, found)| found.drift.suspected)
        .map(|(cell, _)| cell.name())
        .collect();
    if !suspected.is_empty() {
        notes.push(format!(
            "drift: within a side {} already changed over time in the direction in which the sides differ; repeat with alternating runs",
            suspected.join(", ")
        ));
    } else if found().any(|(_, found)| {
        found.differs
            && matches!(
                found.drift.order,
                RunOrder::FirstBefore | RunOrder::SecondBefore
            )
    }) {
        notes.push(
            "the sides were measured one after the other: a change of conditions in between has the same effect".to_owned(),
        );
    }
    let apart = found().any(|(_, found)| tests_disagree(&found, 1.0 - comparison.confidence));
    if apart {
        notes.push(
            "the rank test (Mann-Whitney) disagrees for some metrics: look at the single runs"
                .to_owned(),
        );
    }
    notes
}

/// `true` when the rank test disagrees with the test of means.
fn tests_disagree(contrast: &Contrast, alpha: f64) -> bool {
    (contrast.p < alpha) != (contrast.ranks.p < alpha)
}

/// The result in a sentence or two.
fn overall(comparison: &Comparison) -> Vec<String> {
    let cells = &comparison.cells;
    if let [only] = cells.as_slice() {
        return vec![format!("{}: {}", only.name(), only.verdict)];
    }
    let count = |wanted: &dyn Fn(&Contrast) -> bool| {
        let found = cells.iter().filter_map(|cell| cell.result.as_ref());
        found.filter(|found| wanted(found)).count()
    };
    let compared = count(&|_| true);
    let within_runs = cells.iter().filter(|cell| cell.within_run.is_some());
    let within_runs = within_runs.count();
    if compared == 0 && within_runs > 0 {
        return vec![format!(
            "one run a side: {within_runs} of {} metrics have intervals within the runs, which do not contain how much runs vary",
            cells.len()
        )];
    }
    if compared == 0 && cells.iter().all(ComparedMetric::is_of_single_runs) {
        return vec![
            "one run each: how much runs vary is unknown, so none of this is shown to be a difference"
                .to_owned(),
        ];
    }
    if compared == 0 {
        return vec![format!(
            "cannot tell: no metric of {} has enough runs on both sides",
            cells.len()
        )];
    }
    let differ = count(&|found| found.differs);
    let near = count(&|found| !found.differs && found.equivalence.is_some_and(|near| near.holds));
    let mut lines = vec![match differ {
        0 => format!("no difference shown in {compared} comparisons"),
        1 => format!("1 of {compared} comparisons shows a difference"),
        more => format!("{more} of {compared} comparisons show a difference"),
    }];
    if comparison.margin.is_some() {
        lines.push(format!("{near} more are shown to be within the margin"));
    }
    lines
}
