//! The results of a study in sentences, the most important first.

use caudal_core::quantity::Unit;

use super::case_findings::{CaseFindings, MetricFindings};
use super::expectation::CheckedExpectation;
use super::findings::Findings;
use super::format::{format_estimate, format_value};
use super::published::PublishedComparison;
use crate::campaign::Campaign;
use crate::expression::metric_unit;

/// Maximum number of items of a kind that are named; further ones are counted.
const MAX_NAMED: usize = 3;

/// The sentences.
pub(super) fn verdict(campaign: &Campaign, findings: &Findings) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(incomplete(campaign, findings));
    sentences.extend(expectations(&findings.expectations));
    sentences.extend(
        findings
            .contention
            .iter()
            .map(|found| format!("{}.", found.verdict)),
    );
    sentences.extend(missed_predictions(findings));
    sentences.extend(agreement(&findings.published));
    sentences.extend(precision(campaign, findings));
    if sentences.is_empty() {
        sentences.extend(measurements(findings));
    }
    sentences
}

fn incomplete(campaign: &Campaign, findings: &Findings) -> Option<String> {
    let too_few = |n: u64| n < campaign.rule.min;
    let incomplete = findings.cases.iter().filter(|case| too_few(case.n)).count();
    if findings.complete && incomplete == 0 {
        return None;
    }
    let all = findings.cases.len();
    let trials = if findings.trials == 1 {
        "trial"
    } else {
        "trials"
    };
    Some(format!(
        "The study is not complete: {} {trials} so far, and {incomplete} of {all} cases have fewer than the {} asked for.",
        findings.trials, campaign.rule.min
    ))
}

fn expectations(all: &[CheckedExpectation]) -> Vec<String> {
    let failed: Vec<&CheckedExpectation> =
        all.iter().filter(|it| it.holds == Some(false)).collect();
    let held = all.iter().filter(|it| it.holds == Some(true)).count();
    let unknown = all.len() - failed.len() - held;
    let mut sentences = Vec::new();
    for checked in failed.iter().take(MAX_NAMED) {
        let case = checked
            .case
            .as_ref()
            .map_or_else(String::new, |case| format!(" in {case}"));
        sentences.push(format!(
            "Not as expected{case}: {} ({}).",
            checked.that, checked.evidence
        ));
    }
    if failed.len() > MAX_NAMED {
        let more = failed.len() - MAX_NAMED;
        sentences.push(format!(
            "{more} more {} not hold.",
            does(more, "expectation")
        ));
    }
    if held > 0 {
        sentences.push(if held == all.len() && held == 1 {
            "The expectation holds.".to_owned()
        } else if held == all.len() {
            format!("All {held} expectations hold.")
        } else {
            format!("{held} of {} expectations hold.", all.len())
        });
    }
    if unknown > 0 {
        let noun = if unknown == 1 {
            "expectation"
        } else {
            "expectations"
        };
        sentences.push(format!("{unknown} {noun} cannot be evaluated."));
    }
    sentences
}

/// The goodputs that the formulas miss by more than a factor of two, in either direction.
fn missed_predictions(findings: &Findings) -> Option<String> {
    let missed: Vec<String> = findings
        .cases
        .iter()
        .filter(|case| case.alone.is_none())
        .flat_map(|case| {
            case.metrics
                .iter()
                .filter_map(|(name, metric)| missed_prediction(&case.key, name, metric))
        })
        .collect();
    let more = match missed.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let named = missed.iter().take(MAX_NAMED).cloned();
    (!missed.is_empty()).then(|| {
        format!(
            "The formulas miss by more than a factor of 2: {}{more}.",
            named.collect::<Vec<_>>().join("; ")
        )
    })
}

/// A goodput beside what was predicted, and simulated, where the prediction misses it.
fn missed_prediction(case: &str, name: &str, metric: &MetricFindings) -> Option<String> {
    let (observed, predicted) = (metric.observed?, metric.predicted?);
    let ratio = observed.mean / predicted;
    if !name.ends_with(".goodput") || !ratio.is_finite() || (0.5..=2.0).contains(&ratio) {
        return None;
    }
    let unit = metric_unit(name);
    let simulated = metric.simulated.map_or_else(String::new, |value| {
        format!(", simulated {}", format_value(value, unit))
    });
    Some(format!(
        "{case} {name} {}, predicted {}{simulated}",
        format_value(observed.mean, unit),
        format_value(predicted, unit)
    ))
}

fn does(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("{noun} does")
    } else {
        format!("{noun}s do")
    }
}

/// The number of cases that agree with the published values, and where and why others do not.
fn agreement(rows: &[PublishedComparison]) -> Option<String> {
    let mut cases: Vec<(&str, Vec<&PublishedComparison>)> = Vec::new();
    for row in rows.iter().filter(|row| row.agrees.is_some()) {
        match cases.iter_mut().find(|(case, _)| *case == row.case) {
            Some((_, known)) => known.push(row),
            None => cases.push((&row.case, vec![row])),
        }
    }
    if cases.is_empty() {
        return None;
    }
    let differs =
        |rows: &Vec<&PublishedComparison>| rows.iter().any(|row| row.agrees == Some(false));
    let different: Vec<&(&str, Vec<&PublishedComparison>)> =
        cases.iter().filter(|(_, rows)| differs(rows)).collect();
    let (agree, all) = (cases.len() - different.len(), cases.len());
    if different.is_empty() {
        return Some(
            format!("Agrees with the published values in all {all} cases that can be compared.")
                .replace(
                    "all 1 cases that can be compared",
                    "the case that can be compared",
                ),
        );
    }
    let mut parts: Vec<String> = different
        .iter()
        .take(MAX_NAMED)
        .map(|(case, rows)| {
            let rows: Vec<&&PublishedComparison> = rows
                .iter()
                .filter(|row| row.agrees == Some(false))
                .collect();
            let differences: Vec<String> = rows.iter().map(|row| difference(row)).collect();
            let because = rows.iter().find_map(|row| row.because.as_deref());
            let because = because.map_or_else(String::new, |because| {
                format!(", because {}", because.trim_end_matches('.'))
            });
            format!("in {case} ({}){because}", differences.join(", "))
        })
        .collect();
    if different.len() > MAX_NAMED {
        parts.push(format!("in {} more", different.len() - MAX_NAMED));
    }
    Some(format!(
        "Agrees with the published values in {agree} of {all} cases; not {}.",
        parts.join("; nor ")
    ))
}

fn difference(row: &PublishedComparison) -> String {
    match row.difference {
        Some(difference) if difference.abs() < 10.0 => {
            format!("{} {:+.0} %", row.metric, difference * 100.0)
        }
        Some(difference) => format!("{} {:.0} times", row.metric, difference + 1.0),
        None => row.metric.clone(),
    }
}

/// The cases that have not reached the error goal after the maximum number of trials.
fn precision(campaign: &Campaign, findings: &Findings) -> Option<String> {
    let rule = &campaign.rule;
    let missed = |case: &&CaseFindings| case.reached == Some(false) && case.n >= rule.max;
    let cases: Vec<&CaseFindings> = findings.cases.iter().filter(missed).collect();
    if cases.is_empty() {
        return None;
    }
    let shown: Vec<&str> = cases
        .iter()
        .take(MAX_NAMED)
        .map(|case| case.key.as_str())
        .collect();
    let more = match cases.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "Not within the error goal of {} after {} trials: {}{more}.",
        Unit::Share.show(rule.relative_error),
        rule.max,
        shown.join(", ")
    ))
}

/// The first measurements, for a study without expectations.
fn measurements(findings: &Findings) -> Vec<String> {
    let sentence = |case: &CaseFindings| {
        let (name, metric) = case
            .metrics
            .iter()
            .find(|(name, metric)| name.ends_with(".goodput") && metric.observed.is_some())
            .or_else(|| case.metrics.iter().find(|(name, _)| name.ends_with(".rtt")))?;
        let observed = format_estimate(metric.observed.as_ref()?, metric_unit(name));
        Some(format!("{}: {name} {observed}.", case.key))
    };
    findings
        .cases
        .iter()
        .filter(|case| case.alone.is_none())
        .filter_map(sentence)
        .take(MAX_NAMED)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_goodput_that_a_formula_misses_by_more_than_a_factor_of_two_is_named() {
        let missed = |observed: f64, predicted: f64| {
            let metric = serde_json::from_value(json!({
                "unit": "bit/s",
                "observed": caudal_stats::Estimate::single(observed),
                "values": [observed],
                "predicted": predicted,
                "simulated": 9.189e6,
            }));
            missed_prediction("contract=15M", "tcp.goodput", &metric.unwrap())
        };
        assert_eq!(
            missed(2.87e6, 14.31e6).as_deref(),
            Some(
                "contract=15M tcp.goodput 2.870 Mbit/s, predicted 14.31 Mbit/s, simulated 9.189 Mbit/s"
            )
        );
        assert!(missed(29e6, 14.31e6).is_some());
        assert_eq!(missed(13e6, 14.31e6), None);
        assert_eq!(
            missed(1e5, 0.0),
            None,
            "nothing is more than nothing by any factor"
        );
    }
}
