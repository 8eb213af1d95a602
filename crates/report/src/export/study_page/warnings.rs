//! The warnings of a study and of its trials.

use crate::export::page::{Block, Item, MAX_SENTENCES};
use crate::export::wording::sentence;
use caudal_experiment::Trial;
use caudal_experiment::findings::Findings;

/// The warnings, failures and discarded trials.
pub(super) fn warnings(findings: &Findings, trials: &[Trial]) -> Vec<Block> {
    let failed = trials.iter().flat_map(|trial| {
        trial
            .flows
            .iter()
            .filter_map(|flow| Some(format!("{} failed: {}", flow.name, flow.failure.as_ref()?)))
    });
    let discarded = trials.iter().filter_map(|trial| {
        Some(format!(
            "a trial was discarded: {}",
            trial.discarded.as_ref()?
        ))
    });
    let of_trials = trials
        .iter()
        .flat_map(|trial| trial.warnings.iter().cloned());
    let items = counted_items(
        findings
            .warnings
            .iter()
            .cloned()
            .chain(failed)
            .chain(discarded)
            .chain(of_trials),
    );
    if items.is_empty() {
        vec![Block::Text("There are no warnings.".to_owned())]
    } else {
        vec![Block::List(items)]
    }
}

/// Each warning once, with the number of times it occurs.
pub fn counted_items(warnings: impl Iterator<Item = String>) -> Vec<Item> {
    let mut seen: Vec<(String, u64)> = Vec::new();
    for warning in warnings {
        match seen.iter_mut().find(|known| known.0 == warning) {
            Some(known) => known.1 += 1,
            None => seen.push((warning, 1)),
        }
    }
    let more = seen.len().saturating_sub(2 * MAX_SENTENCES);
    let mut items: Vec<Item> = seen
        .into_iter()
        .take(2 * MAX_SENTENCES)
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
