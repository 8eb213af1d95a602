//! The check for a regression: whether the second side is worse than the first by more than a margin.
//!
//! The interval decides: wholly within the margin, wholly beyond it, or neither. This is the test for non-inferiority of ICH E9, with the
//! margin as a fraction of the first side's mean.

use caudal_core::quantity::Unit;
use caudal_stats::{
    Estimate, IntervalMethod, MIN_TRIALS_OF_INTERVAL, NotComparable, exceeding_p, holm,
    runs_to_exclude_limit,
};

use super::comparison::ComparedMetric;
use super::direction::find_metric;
use super::format::{trimmed, value_text};
use super::regression::{MetricRegression, Regression, RegressionEvidence, RegressionOutcome};

/// The change for the worse of a metric, and what it rests on.
struct Worsening {
    estimate: Estimate,
    df: Option<f64>,
    evidence: RegressionEvidence,
}

/// Checks the metrics of `cells`, one result for each, at `confidence`; `None` for those that `is_checked` excludes.
pub fn check_regressions(
    cells: &[ComparedMetric],
    margin: f64,
    confidence: f64,
    is_checked: impl Fn(&ComparedMetric) -> bool,
) -> Vec<Option<MetricRegression>> {
    let checked: Vec<Option<(&ComparedMetric, Option<Worsening>)>> = cells
        .iter()
        .map(|cell| is_checked(cell).then(|| (cell, worsening(cell, confidence))))
        .collect();
    let p_values: Vec<Option<f64>> = checked
        .iter()
        .map(|one| {
            let (cell, worsening) = one.as_ref()?;
            let worsening = worsening.as_ref()?;
            exceeding_p(&worsening.estimate, worsening.df, within(cell, margin)?)
        })
        .collect();
    let mut adjusted = holm(&p_values.iter().flatten().copied().collect::<Vec<f64>>()).into_iter();
    let count = adjusted.len();
    checked
        .into_iter()
        .zip(p_values)
        .map(|(one, p)| {
            let adjusted_p = p.and_then(|_| adjusted.next());
            let (cell, worsening) = one?;
            let sentence = Sentence {
                cell,
                margin,
                confidence,
                count,
            };
            Some(sentence.check(worsening, adjusted_p))
        })
        .collect()
}

/// The margin in the unit of the metric.
fn within(cell: &ComparedMetric, margin: f64) -> Option<f64> {
    Some(margin * cell.first?.mean.mean.abs())
}

/// The change for the worse; `None` where nothing can be compared, or the metric has no better side.
fn worsening(cell: &ComparedMetric, confidence: f64) -> Option<Worsening> {
    let more_is_better = find_metric(&cell.metric)?.more_is_better?;
    let (difference, df, evidence) = match (&cell.result, &cell.cannot, &cell.within_run) {
        (Some(found), ..) => (
            found.difference,
            Some(found.df),
            RegressionEvidence::BetweenRuns,
        ),
        (None, Some(NotComparable::NoSpread { first, second }), _) => {
            let exact = Estimate {
                confidence,
                ..Estimate::single(second - first)
            };
            (exact, None, RegressionEvidence::BetweenRuns)
        }
        (None, _, Some(within)) => {
            let estimate = Estimate {
                mean: within.mean,
                low: within.low,
                high: within.high,
                confidence: within.confidence,
                n: 2,
                method: IntervalMethod::BatchMeansT,
            };
            (estimate, None, RegressionEvidence::WithinRun)
        }
        _ => return None,
    };
    let estimate = if more_is_better {
        Estimate {
            mean: -difference.mean,
            low: -difference.high,
            high: -difference.low,
            ..difference
        }
    } else {
        difference
    };
    Some(Worsening {
        estimate,
        df,
        evidence,
    })
}

/// What the sentence on a metric is made of.
struct Sentence<'a> {
    cell: &'a ComparedMetric,
    margin: f64,
    confidence: f64,
    count: usize,
}

impl Sentence<'_> {
    /// The check of the metric.
    fn check(&self, worsening: Option<Worsening>, adjusted_p: Option<f64>) -> MetricRegression {
        let within = within(self.cell, self.margin);
        let (Some(worsening), Some(limit)) = (worsening, within) else {
            return self.not_compared(within);
        };
        let estimate = worsening.estimate;
        let is_significant = adjusted_p.is_some_and(|p| p <= (1.0 - self.confidence) / 2.0);
        let outcome = if estimate.high <= limit {
            RegressionOutcome::NotWorse
        } else if estimate.low > limit && is_significant {
            RegressionOutcome::Worse
        } else {
            RegressionOutcome::CannotTell
        };
        let runs_needed = (outcome == RegressionOutcome::CannotTell)
            .then(|| self.runs_needed(estimate.mean - limit))
            .flatten();
        let mut reason = match outcome {
            RegressionOutcome::NotWorse => format!(
                "not worse by more than {}: {}",
                self.margin_text(),
                self.interval_text(&estimate)
            ),
            RegressionOutcome::Worse => format!(
                "worse by more than {}: {}",
                self.margin_text(),
                self.interval_text(&estimate)
            ),
            RegressionOutcome::CannotTell if estimate.low > limit => format!(
                "cannot tell: worse by more than {} by itself, but not among {} metrics checked at once ({})",
                self.margin_text(),
                self.count,
                self.interval_text(&estimate)
            ),
            RegressionOutcome::CannotTell => format!(
                "cannot tell: the interval is too wide for a margin of {}: {}",
                self.margin_text(),
                self.interval_text(&estimate)
            ),
        };
        if worsening.evidence == RegressionEvidence::WithinRun {
            reason += "; from one run a side: how much runs vary is unknown";
        }
        if outcome == RegressionOutcome::CannotTell {
            reason += &self.remedy(worsening.evidence, runs_needed);
        }
        MetricRegression {
            outcome,
            evidence: Some(worsening.evidence),
            worsening: Some(estimate),
            within,
            adjusted_p,
            runs_needed,
            reason,
        }
    }

    /// The check of a metric that could not be compared.
    fn not_compared(&self, within: Option<f64>) -> MetricRegression {
        let cell = self.cell;
        let has_direction = find_metric(&cell.metric).is_some_and(|m| m.more_is_better.is_some());
        let mut runs_needed = None;
        let why = match &cell.cannot {
            _ if !has_direction => "neither more nor less of this metric is worse".to_owned(),
            Some(NotComparable::TooFew { first, second }) => {
                runs_needed = Some(self.runs_needed_after_few());
                let runs = match (first, second) {
                    (1, 1) => "one run a side is too few".to_owned(),
                    (first, second) => format!("{first} of A and {second} of B are too few runs"),
                };
                let within_run = cell.no_within_run.map_or("", |why| why);
                let within_run = if within_run.is_empty() {
                    String::new()
                } else {
                    format!(", and {within_run}")
                };
                format!(
                    "{runs}{within_run}; {} a side are needed",
                    runs_needed.unwrap_or(MIN_TRIALS_OF_INTERVAL as u64)
                )
            }
            Some(NotComparable::NotANumber) => "a result is not a number".to_owned(),
            Some(NotComparable::Units) => "the sides are not in the same unit".to_owned(),
            _ => "a side has no result".to_owned(),
        };
        MetricRegression {
            outcome: RegressionOutcome::CannotTell,
            evidence: None,
            worsening: None,
            within,
            adjusted_p: None,
            runs_needed,
            reason: format!("cannot tell: {why}"),
        }
    }

    /// The runs a side that would probably decide, where the difference and the spread stay as they are.
    fn runs_needed(&self, distance: f64) -> Option<u64> {
        let (first, second) = (self.cell.first?, self.cell.second?);
        runs_to_exclude_limit((first.sd?, second.sd?), distance, self.confidence)
    }

    /// The runs a side that would probably decide, from sides with fewer than an interval takes; at least as many as that.
    fn runs_needed_after_few(&self) -> u64 {
        let distance = || {
            let more_is_better = find_metric(&self.cell.metric)?.more_is_better?;
            let (first, second) = (self.cell.first?.mean.mean, self.cell.second?.mean.mean);
            let worse_by = if more_is_better {
                first - second
            } else {
                second - first
            };
            Some(worse_by - within(self.cell, self.margin)?)
        };
        distance()
            .and_then(|distance| self.runs_needed(distance))
            .unwrap_or(MIN_TRIALS_OF_INTERVAL as u64)
    }

    /// What would decide, to follow the reason why nothing is decided.
    fn remedy(&self, evidence: RegressionEvidence, runs_needed: Option<u64>) -> String {
        match (evidence, runs_needed) {
            (RegressionEvidence::WithinRun, _) => {
                format!("; measure longer, or at least {MIN_TRIALS_OF_INTERVAL} runs a side")
            }
            (RegressionEvidence::BetweenRuns, Some(runs)) => {
                format!("; about {runs} runs a side would tell")
            }
            (RegressionEvidence::BetweenRuns, None) => {
                "; with this spread no number of runs up to 10 000 a side would tell".to_owned()
            }
        }
    }

    /// The margin as a percentage.
    fn margin_text(&self) -> String {
        format!("{} %", trimmed(self.margin * 100.0))
    }

    /// The interval of the change for the worse: relative to the first side's mean, or in the unit where that is zero.
    fn interval_text(&self, worsening: &Estimate) -> String {
        let base = self.cell.first.map_or(0.0, |first| first.mean.mean.abs());
        let change = |worse: f64| change_text(worse, base, self.cell.unit);
        if worsening.low == worsening.high {
            let sides = "with no spread in either side";
            return format!("B is {}, {sides}", change(worsening.mean));
        }
        let level = caudal_core::quantity::confidence_level(worsening.confidence);
        // Of a change for the better the smaller one comes first as well.
        let (from, to) = if worsening.high < 0.0 {
            (worsening.high, worsening.low)
        } else {
            (worsening.low, worsening.high)
        };
        format!(
            "B is {} ({level} {} to {})",
            change(worsening.mean),
            change(from),
            change(to)
        )
    }
}

/// A change for the worse as text.
fn change_text(worse: f64, base: f64, unit: Option<Unit>) -> String {
    let size = if base > 0.0 {
        format!("{} %", trimmed(worse.abs() / base * 100.0))
    } else {
        value_text(unit, worse.abs())
    };
    match worse {
        worse if worse > 0.0 => format!("{size} worse"),
        worse if worse < 0.0 => format!("{size} better"),
        _ => "equal".to_owned(),
    }
}

impl Regression {
    /// The check of all metrics together; `missing` are the checked ones that the first side has and the second has not.
    #[must_use]
    pub fn over(cells: &[ComparedMetric], missing: &[String], margin: f64) -> Self {
        let of = |outcome: RegressionOutcome| -> Vec<String> {
            let checks = cells.iter().filter_map(|cell| {
                let check = cell.regression.as_ref()?;
                let sentence = || format!("{}: {}", cell.name(), check.reason);
                (check.outcome == outcome).then(sentence)
            });
            checks.collect()
        };
        let worse = of(RegressionOutcome::Worse);
        let not_worse = of(RegressionOutcome::NotWorse);
        let mut cannot_tell = of(RegressionOutcome::CannotTell);
        let no_result = |name: &String| format!("{name}: cannot tell: B has no result");
        cannot_tell.extend(missing.iter().map(no_result));
        let (outcome, reason) = if let Some(reason) = first_and_more(&worse) {
            (RegressionOutcome::Worse, reason)
        } else if let Some(reason) = first_and_more(&cannot_tell) {
            (RegressionOutcome::CannotTell, reason)
        } else {
            let percent = trimmed(margin * 100.0);
            match not_worse.as_slice() {
                [] => (
                    RegressionOutcome::CannotTell,
                    "cannot tell: no metric that both sides have has a better and a worse side"
                        .to_owned(),
                ),
                [only] => (RegressionOutcome::NotWorse, only.clone()),
                all => (
                    RegressionOutcome::NotWorse,
                    format!(
                        "none of {} metrics is worse by more than {percent} %",
                        all.len()
                    ),
                ),
            }
        };
        Self {
            outcome,
            margin,
            worse: worse.len(),
            cannot_tell: cannot_tell.len(),
            not_worse: not_worse.len(),
            reason,
        }
    }
}

/// The first sentence and the number of the others; `None` without any.
fn first_and_more(sentences: &[String]) -> Option<String> {
    let first = sentences.first()?;
    Some(match sentences.len() {
        1 => first.clone(),
        count => format!("{first}; and {} more", count - 1),
    })
}
