//! A study in plain words, the most important first.

use caudal_experiment::Campaign;
use caudal_experiment::expression::metric_unit;

use super::lookup::with_interval;
use super::{Beside, Checked, Findings};

/// The most that is said of one thing before the rest is counted.
const SAID: usize = 3;

pub(super) fn of(campaign: &Campaign, findings: &Findings) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(incomplete(campaign, findings));
    said.extend(expectations(&findings.expectations));
    said.extend(
        findings
            .contention
            .iter()
            .map(|found| format!("{}.", found.verdict)),
    );
    said.extend(agreement(&findings.published));
    said.extend(precision(campaign, findings));
    if said.is_empty() {
        said.extend(plain(findings));
    }
    said
}

fn incomplete(campaign: &Campaign, findings: &Findings) -> Option<String> {
    let few = |n: u64| n < campaign.rule.min;
    let behind = findings.cases.iter().filter(|case| few(case.n)).count();
    if findings.complete && behind == 0 {
        return None;
    }
    let all = findings.cases.len();
    let trials = if findings.trials == 1 {
        "trial"
    } else {
        "trials"
    };
    Some(format!(
        "The study is not complete: {} {trials} so far, and {behind} of {all} cases have fewer than the {} asked for.",
        findings.trials, campaign.rule.min
    ))
}

fn expectations(all: &[Checked]) -> Vec<String> {
    let failed: Vec<&Checked> = all.iter().filter(|it| it.holds == Some(false)).collect();
    let held = all.iter().filter(|it| it.holds == Some(true)).count();
    let unknown = all.len() - failed.len() - held;
    let mut said = Vec::new();
    for checked in failed.iter().take(SAID) {
        let case = checked
            .case
            .as_ref()
            .map_or_else(String::new, |case| format!(" in {case}"));
        said.push(format!(
            "Not as expected{case}: {} ({}).",
            checked.that, checked.evidence
        ));
    }
    if failed.len() > SAID {
        let more = failed.len() - SAID;
        said.push(format!(
            "{more} more {} not hold.",
            does(more, "expectation")
        ));
    }
    if held > 0 {
        said.push(if held == all.len() && held == 1 {
            "The expectation holds.".to_owned()
        } else if held == all.len() {
            format!("All {held} expectations hold.")
        } else {
            format!("{held} of {} expectations hold.", all.len())
        });
    }
    if unknown > 0 {
        let verb = if unknown == 1 {
            "expectation"
        } else {
            "expectations"
        };
        said.push(format!("{unknown} {verb} cannot be told."));
    }
    said
}

fn does(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("{noun} does")
    } else {
        format!("{noun}s do")
    }
}

/// In how many cases ours agrees with the published, and where and why not.
fn agreement(rows: &[Beside]) -> Option<String> {
    let mut cases: Vec<(&str, Vec<&Beside>)> = Vec::new();
    for row in rows.iter().filter(|row| row.agrees.is_some()) {
        match cases.iter_mut().find(|(case, _)| *case == row.case) {
            Some((_, known)) => known.push(row),
            None => cases.push((&row.case, vec![row])),
        }
    }
    if cases.is_empty() {
        return None;
    }
    let differs = |rows: &Vec<&Beside>| rows.iter().any(|row| row.agrees == Some(false));
    let different: Vec<&(&str, Vec<&Beside>)> =
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
        .take(SAID)
        .map(|(case, rows)| {
            let rows: Vec<&&Beside> = rows
                .iter()
                .filter(|row| row.agrees == Some(false))
                .collect();
            let far: Vec<String> = rows.iter().map(|row| far(row)).collect();
            let because = rows.iter().find_map(|row| row.because.as_deref());
            let because = because.map_or_else(String::new, |because| {
                format!(", because {}", because.trim_end_matches('.'))
            });
            format!("in {case} ({}){because}", far.join(", "))
        })
        .collect();
    if different.len() > SAID {
        parts.push(format!("in {} more", different.len() - SAID));
    }
    Some(format!(
        "Agrees with the published values in {agree} of {all} cases; not {}.",
        parts.join("; nor ")
    ))
}

fn far(row: &Beside) -> String {
    match row.difference {
        Some(difference) if difference.abs() < 10.0 => {
            format!("{} {:+.0} %", row.metric, difference * 100.0)
        }
        Some(difference) => format!("{} {:.0} times", row.metric, difference + 1.0),
        None => row.metric.clone(),
    }
}

/// Cases that were repeated as often as allowed and are not known as well as asked for.
fn precision(campaign: &Campaign, findings: &Findings) -> Option<String> {
    let rule = &campaign.rule;
    let known = |case: &&super::CaseFindings| case.reached == Some(false) && case.n >= rule.max;
    let unknown: Vec<&super::CaseFindings> = findings.cases.iter().filter(known).collect();
    if unknown.is_empty() {
        return None;
    }
    let shown: Vec<&str> = unknown
        .iter()
        .take(SAID)
        .map(|case| case.key.as_str())
        .collect();
    let more = match unknown.len().saturating_sub(SAID) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "Not known to within {} after {} trials: {}{more}.",
        caudal_core::quantity::Unit::Share.show(rule.relative_error),
        rule.max,
        shown.join(", ")
    ))
}

/// What was measured, where nothing was expected of it.
fn plain(findings: &Findings) -> Vec<String> {
    let sentence = |case: &super::CaseFindings| {
        let (name, metric) = case
            .metrics
            .iter()
            .find(|(name, metric)| name.ends_with(".goodput") && metric.observed.is_some())
            .or_else(|| case.metrics.iter().find(|(name, _)| name.ends_with(".rtt")))?;
        let observed = with_interval(metric.observed.as_ref()?, metric_unit(name));
        Some(format!("{}: {name} {observed}.", case.key))
    };
    findings
        .cases
        .iter()
        .filter(|case| case.alone.is_none())
        .filter_map(sentence)
        .take(SAID)
        .collect()
}
