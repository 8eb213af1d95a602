//! The verdict of a study, and its expectations.

use crate::export::page::{Block, Cell, Item, MAX_SENTENCES, Mark, Table, TableColumn};
use crate::export::wording::{self, count, does, sentence};
use caudal_experiment::findings::{CheckedExpectation, Findings};

/// The verdict, then the expectations: those that failed, those undecided, those that hold.
pub(super) fn verdict(findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    let any_failed = findings
        .expectations
        .iter()
        .any(|one| one.holds == Some(false));
    if !findings.complete {
        blocks.push(Block::Lead(
            "This study is not complete: the trials carried out until now are what it rests on."
                .to_owned(),
        ));
    }
    if findings.trials == 0 {
        blocks.push(Block::Lead("No trial was carried out.".to_owned()));
    }
    if any_failed {
        blocks.extend(tally(findings));
        blocks.push(Block::List(limited(&with(findings, Some(false)))));
    }
    blocks.extend(
        findings
            .verdict
            .iter()
            .map(|text| Block::Lead(sentence(text))),
    );
    if !any_failed {
        blocks.extend(tally(findings));
    }
    let open: Vec<&CheckedExpectation> = with(findings, None);
    if !open.is_empty() {
        blocks.push(Block::List(limited(&open)));
    }
    let held = with(findings, Some(true));
    if !held.is_empty() {
        let rows = held.iter().map(|one| {
            let cells = vec![
                Cell::new(
                    one.case
                        .clone()
                        .unwrap_or_else(|| "the whole study".to_owned()),
                ),
                Cell::new(one.evidence.clone()),
                Cell::new(one.because.clone().unwrap_or_default()),
            ];
            (one.that.clone(), cells)
        });
        let table = Table {
            caption: String::new(),
            corner: "expected".to_owned(),
            columns: ["case", "seen", "because"].map(TableColumn::words).to_vec(),
            rows: rows.collect(),
            note: None,
        };
        blocks.push(Block::Details(
            format!(
                "{} that {}",
                count(held.len() as u64, "expectation"),
                if held.len() == 1 { "holds" } else { "hold" }
            ),
            vec![Block::Table(table)],
        ));
    }
    blocks
}

/// The expectations that hold, that fail, or that are undecided.
fn with(findings: &Findings, holds: Option<bool>) -> Vec<&CheckedExpectation> {
    findings
        .expectations
        .iter()
        .filter(|one| one.holds == holds)
        .collect()
}

fn limited(checked: &[&CheckedExpectation]) -> Vec<Item> {
    let mut items: Vec<Item> = checked
        .iter()
        .take(MAX_SENTENCES)
        .map(|one| item(one))
        .collect();
    if checked.len() > MAX_SENTENCES {
        items.push(Item::plain(format!(
            "{} more, in the data.",
            checked.len() - MAX_SENTENCES
        )));
    }
    items
}

fn item(checked: &CheckedExpectation) -> Item {
    let case = checked
        .case
        .as_ref()
        .map_or(String::new(), |case| format!(" ({case})"));
    let mut more = vec![checked.evidence.clone()];
    if let Some(because) = &checked.because {
        more.push(format!("Expected because: {because}"));
    }
    more.retain(|text| !text.is_empty());
    Item {
        mark: Mark::from(checked.holds),
        text: format!("{}{case}", checked.that),
        more,
    }
}

/// The number of expectations that hold, unless the verdict has it already.
fn tally(findings: &Findings) -> Option<Block> {
    let all = findings.expectations.len() as u64;
    let is_about_expectations = |text: &String| text.contains("expectation");
    if all == 0 || findings.verdict.iter().any(is_about_expectations) {
        return None;
    }
    let of = |holds| with(findings, holds).len() as u64;
    let (held, failed, open) = (of(Some(true)), of(Some(false)), of(None));
    let text = if held == all {
        match all {
            1 => "The one expectation holds.".to_owned(),
            _ => format!("All {all} expectations hold."),
        }
    } else {
        let mut parts = Vec::new();
        if failed > 0 {
            parts.push(does(failed, "fail"));
        }
        if open > 0 {
            parts.push(format!("{open} undecided"));
        }
        parts.push(does(held, "hold"));
        format!(
            "Of {}, {}.",
            count(all, "expectation"),
            wording::list(&parts)
        )
    };
    Some(Block::Lead(text))
}
