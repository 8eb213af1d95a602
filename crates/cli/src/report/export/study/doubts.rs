//! What to doubt.

use super::super::page::{Block, Item};
use super::super::pictures::sentence;
use super::MOST_SENTENCES;
use caudal_experiment::Trial;
use caudal_experiment::findings::Findings;

pub(super) fn doubts(findings: &Findings, trials: &[Trial]) -> Vec<Block> {
    let failed = trials.iter().flat_map(|trial| {
        trial
            .flows
            .iter()
            .filter_map(|flow| Some(format!("{} failed: {}", flow.name, flow.failure.as_ref()?)))
    });
    let spoiled = trials.iter().filter_map(|trial| {
        Some(format!(
            "a trial does not count: {}",
            trial.discarded.as_ref()?
        ))
    });
    let of_trials = trials
        .iter()
        .flat_map(|trial| trial.warnings.iter().cloned());
    let items = tallied(
        findings
            .warnings
            .iter()
            .cloned()
            .chain(failed)
            .chain(spoiled)
            .chain(of_trials),
    );
    if items.is_empty() {
        vec![Block::Text(
            "Nothing was noticed that would cast doubt on the result.".to_owned(),
        )]
    } else {
        vec![Block::List(items)]
    }
}

/// Warnings, once each with how often.
pub(in super::super) fn tallied(warnings: impl Iterator<Item = String>) -> Vec<Item> {
    let mut seen: Vec<(String, u64)> = Vec::new();
    for warning in warnings {
        match seen.iter_mut().find(|known| known.0 == warning) {
            Some(known) => known.1 += 1,
            None => seen.push((warning, 1)),
        }
    }
    let more = seen.len().saturating_sub(2 * MOST_SENTENCES);
    let mut items: Vec<Item> = seen
        .into_iter()
        .take(2 * MOST_SENTENCES)
        .map(|(text, times)| {
            Item::plain(if times == 1 {
                sentence(&text)
            } else {
                format!("{} ({times} times)", sentence(&text))
            })
        })
        .collect();
    if more > 0 {
        items.push(Item::plain(format!("{more} more, in the data.")));
    }
    items
}
