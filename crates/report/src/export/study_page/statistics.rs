//! The number of trials, their order, and the precision of their means.

use crate::export::figures::label;
use crate::export::page::{Block, Item, MAX_SENTENCES};
use crate::export::wording::{self, about, count, sentence};
use caudal_core::quantity::Unit;
use caudal_experiment::Trial;
use caudal_experiment::findings::{CaseFindings, Findings};
use caudal_stats::{MIN_TRIALS_OF_INTERVAL, quantile};

/// The number of trials, the precision of their means, their order, and their duration, as a list.
pub(super) fn statistics(findings: &Findings, trials: &[Trial]) -> Vec<Block> {
    let mut texts = vec![
        trial_count(findings),
        format!(
            "Intervals of {} confidence: Student's t over the results of independent trials; of a case with fewer than {MIN_TRIALS_OF_INTERVAL}, the minimum and maximum; a case with one trial has none.",
            wording::level(findings.confidence)
        ),
        precision(findings),
        format!(
            "Order of the trials: in blocks of one trial a case, each block shuffled; seed {}.",
            findings.seed
        ),
    ];
    texts.extend(repetitions(findings));
    texts.extend(duration(trials));
    vec![Block::List(texts.into_iter().map(Item::plain).collect())]
}

/// The number of trials that count, and of those that were repeated.
fn trial_count(findings: &Findings) -> String {
    format!(
        "{} count{}; {} in which the emulator stalled {} repeated.",
        sentence(&count(findings.trials, "trial")).trim_end_matches('.'),
        if findings.trials == 1 { "s" } else { "" },
        match findings.discarded {
            0 => "none".to_owned(),
            discarded => discarded.to_string(),
        },
        if findings.discarded == 1 {
            "was"
        } else {
            "were"
        }
    )
}

/// The number of cases that reached the relative error asked for, and the names of those that did not.
fn precision(findings: &Findings) -> String {
    let ruled: Vec<&CaseFindings> = findings
        .cases
        .iter()
        .filter(|case| case.reached.is_some())
        .collect();
    if ruled.is_empty() {
        return "The number of repetitions was fixed beforehand; no error was asked for."
            .to_owned();
    }
    let missed: Vec<String> = ruled
        .iter()
        .filter(|case| case.reached == Some(false))
        .map(|case| format!("{} (n = {})", label(case), case.n))
        .collect();
    let reached = ruled.len() - missed.len();
    let mut text = format!(
        "The relative error asked for was reached in {reached} of {}.",
        count(ruled.len() as u64, "case")
    );
    if !missed.is_empty() {
        let more = missed.len().saturating_sub(MAX_SENTENCES);
        let names: Vec<String> = missed.into_iter().take(MAX_SENTENCES).collect();
        text += &format!(" Not in {}", wording::list(&names));
        if more > 0 {
            text += &format!(", nor in {more} more");
        }
        text += ".";
    }
    text
}

/// The number of trials of each case, or its range.
fn repetitions(findings: &Findings) -> Option<String> {
    let counts = || findings.cases.iter().map(|case| case.n);
    let (min, max) = (counts().min()?, counts().max()?);
    Some(if min == max {
        format!("Every case was carried out {}.", times(max))
    } else {
        format!("Cases were carried out {min} to {max} times.")
    })
}

/// The time for which each trial was measured, and the warm-up before it.
fn duration(trials: &[Trial]) -> Option<String> {
    let measured: Vec<f64> = trials.iter().map(|trial| trial.measured_s).collect();
    let (low, high) = (quantile(&measured, 0.0)?, quantile(&measured, 1.0)?);
    let duration = if about(low, Unit::Seconds) == about(high, Unit::Seconds) {
        about(low, Unit::Seconds)
    } else {
        wording::pair(low, high, Unit::Seconds, "to")
    };
    let warm_up = trials.first().map_or(0.0, |trial| trial.warm_up_s);
    Some(format!(
        "Each trial was measured for {duration}{}.",
        if warm_up > 0.0 {
            format!(
                ", after {} that do not count",
                about(warm_up, Unit::Seconds)
            )
        } else {
            String::new()
        }
    ))
}

/// A number of times as an adverb.
fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}
