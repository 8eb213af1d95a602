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
    let of = |agrees: Option<bool>| all.iter().filter(move |one| one.agrees == agrees);
    let named =
        |one: &PublishedComparison| format!("{} of {}", wording::metric(&one.metric), one.case);
    let mut parts = Vec::new();
    let (agree, differ, open) = (
        of(Some(true)).count(),
        of(Some(false)).count(),
        of(None).count(),
    );
    if agree > 0 {
        parts.push(does(agree as u64, "agree"));
    }
    if differ > 0 {
        parts.push(does(differ as u64, "differ"));
    }
    if open > 0 {
        parts.push(format!("{open} cannot be told"));
    }
    let mut blocks = vec![Block::Text(format!(
        "Of {}, {}.",
        count(all.len() as u64, "published value"),
        wording::list(&parts)
    ))];
    let mut items: Vec<Item> = Vec::new();
    if agree > 0 {
        let names: Vec<String> = of(Some(true)).take(MAX_SENTENCES).map(named).collect();
        let more = agree.saturating_sub(MAX_SENTENCES);
        let more = if more > 0 {
            format!(", and {more} more")
        } else {
            String::new()
        };
        items.push(Item {
            mark: Mark::None,
            text: format!("Agrees: {}{more}.", wording::list(&names)),
            more: Vec::new(),
        });
    }
    for one in of(Some(false)).chain(of(None)).take(2 * MAX_SENTENCES) {
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
        // "fails" is a word for expectations; here the text says it.
        let (mark, differs) = match one.agrees {
            Some(false) => (Mark::None, "Differs: "),
            agrees => (Mark::from(agrees), ""),
        };
        items.push(Item {
            mark,
            text: format!("{differs}{}: {}.", named(one), values.join(", ")),
            more: vec![
                one.because
                    .as_deref()
                    .map_or_else(|| "No reason is known.".to_owned(), sentence),
            ],
        });
    }
    blocks.push(Block::List(items));
    if let Some(source) = &findings.source {
        blocks.push(Block::Text(format!("Published: {source}")));
    }
    blocks
}
