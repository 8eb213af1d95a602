//! The published values beside those observed, in sentences.

use crate::export::page::{Block, Item, MAX_SENTENCES, Mark};
use crate::export::wording::{self, about, count, does, sentence};
use caudal_experiment::findings::{Findings, PublishedComparison};

/// The agreement with the published values, the differences and their reasons.
pub(super) fn agreement(findings: &Findings) -> Vec<Block> {
    let all = &findings.published;
    if all.is_empty() {
        return Vec::new();
    }
    let with_verdict = |agrees: Option<bool>| -> Vec<&PublishedComparison> {
        all.iter().filter(|one| one.agrees == agrees).collect()
    };
    let (agree, differ) = (with_verdict(Some(true)), with_verdict(Some(false)));
    let open = with_verdict(None);
    let mut parts = Vec::new();
    if !agree.is_empty() {
        parts.push(does(agree.len() as u64, "agree"));
    }
    if !differ.is_empty() {
        parts.push(does(differ.len() as u64, "differ"));
    }
    if !open.is_empty() {
        parts.push(format!("{} undecided", open.len()));
    }
    let mut blocks = vec![Block::Text(format!(
        "Of {}, {}.",
        count(all.len() as u64, "published value"),
        wording::list(&parts)
    ))];
    let mut items: Vec<Item> = agreeing_item(&agree).into_iter().collect();
    let others = differ.into_iter().chain(open).take(2 * MAX_SENTENCES);
    items.extend(others.map(other_item));
    blocks.push(Block::List(items));
    if let Some(source) = &findings.source {
        blocks.push(Block::Text(format!("Published: {source}")));
    }
    blocks
}

/// The metric and the case of a published value.
fn name(one: &PublishedComparison) -> String {
    format!("{} of {}", wording::metric(&one.metric), one.case)
}

/// The values that agree, by name; `None` where none does.
fn agreeing_item(agree: &[&PublishedComparison]) -> Option<Item> {
    let names: Vec<String> = agree
        .iter()
        .take(MAX_SENTENCES)
        .map(|one| name(one))
        .collect();
    let more = agree.len().saturating_sub(MAX_SENTENCES);
    let more = if more > 0 {
        format!(", and {more} more")
    } else {
        String::new()
    };
    (!agree.is_empty()).then(|| Item {
        mark: Mark::None,
        text: format!("Agrees: {}{more}.", wording::list(&names)),
        more: Vec::new(),
    })
}

/// A value that differs or cannot be judged, with the reason.
fn other_item(one: &PublishedComparison) -> Item {
    let unit = wording::unit(one.unit);
    let values: Vec<String> = [
        one.published
            .map(|value| format!("published {}", about(value, unit))),
        one.observed
            .map(|value| format!("observed {}", about(value.mean, unit))),
        one.difference.map(wording::percent),
    ]
    .into_iter()
    .flatten()
    .collect();
    // The mark of a failure stands for expectations alone; here the text says it.
    let (mark, differs) = match one.agrees {
        Some(false) => (Mark::None, "Differs: "),
        agrees => (Mark::from(agrees), ""),
    };
    Item {
        mark,
        text: format!("{differs}{}: {}.", name(one), values.join(", ")),
        more: vec![
            one.because
                .as_deref()
                .map_or_else(|| "No reason is known.".to_owned(), sentence),
        ],
    }
}
