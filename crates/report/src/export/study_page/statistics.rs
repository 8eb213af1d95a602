//! The number of trials, their order, and the precision of their means.

use crate::export::figures::label;
use crate::export::page::{Block, Item, MAX_SENTENCES};
use crate::export::wording::{self, about, count, sentence};
use crate::quantile::quantile;
use caudal_experiment::Trial;
use caudal_experiment::findings::{CaseFindings, Findings};

pub(super) fn statistics(findings: &Findings, trials: &[Trial]) -> Vec<Block> {
    let mut items = vec![Item::plain(format!(
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
    ))];
    items.push(Item::plain(format!(
        "Intervals of {} confidence: Student's t over the results of independent trials; a case with one trial has none.",
        wording::level(findings.confidence)
    )));
    let ruled: Vec<&CaseFindings> = findings
        .cases
        .iter()
        .filter(|case| case.reached.is_some())
        .collect();
    if ruled.is_empty() {
        items.push(Item::plain(
            "The number of repetitions was fixed beforehand; no error was asked for.",
        ));
    } else {
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
        items.push(Item::plain(text));
    }
    items.push(Item::plain(format!(
        "Order of the trials: in blocks of one trial a case, each block shuffled; seed {}.",
        findings.seed
    )));
    let n: Vec<u64> = findings.cases.iter().map(|case| case.n).collect();
    if let (Some(least), Some(most)) = (n.iter().min(), n.iter().max()) {
        items.push(Item::plain(if least == most {
            format!("Every case was carried out {}.", times(*most))
        } else {
            format!("Cases were carried out {least} to {most} times.")
        }));
    }
    let measured: Vec<f64> = trials.iter().map(|trial| trial.measured_s).collect();
    if let (Some(low), Some(high)) = (quantile(&measured, 0.0), quantile(&measured, 1.0)) {
        let seconds = caudal_core::quantity::Unit::Seconds;
        let duration = if about(low, seconds) == about(high, seconds) {
            about(low, seconds)
        } else {
            wording::pair(low, high, seconds, "to")
        };
        let warm_up = trials.first().map_or(0.0, |trial| trial.warm_up_s);
        items.push(Item::plain(format!(
            "Each trial was measured for {duration}{}.",
            if warm_up > 0.0 {
                format!(", after {} that do not count", about(warm_up, seconds))
            } else {
                String::new()
            }
        )));
    }
    vec![Block::List(items)]
}

fn times(n: u64) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}
