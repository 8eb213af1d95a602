//! A study as a report: what was asked, what came out, and how far it can be believed.

mod agreement;
mod contention;
mod doubts;
mod environment;
mod numbers;
mod published;
mod statistics;
mod tables;
mod verdict;

pub(super) use doubts::tallied;
pub(super) use environment::environment;

use super::page::{Block, Cell, Item, Mark, Page, Section};
use super::pictures::{self, Material, sentence};
use super::words::{self, about, count};
use agreement::agreement;
use caudal_experiment::Metric;
use caudal_experiment::expression::find_metric;
use caudal_experiment::findings::Findings;
use caudal_stats::Estimate;
use contention::contention;
use doubts::doubts;
use numbers::numbers;
use statistics::statistics;
use tables::tables;
use verdict::verdict;

/// Sentences of one kind at most.
const MOST_SENTENCES: usize = 12;

/// The whole report. With `data`, the findings lie beside it under that name.
#[must_use]
pub fn page(material: &Material<'_>, data: Option<&str>) -> Page {
    let findings = material.findings;
    let mut sections = Vec::new();
    let mut add = |heading: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section {
                heading: heading.to_owned(),
                blocks,
            });
        }
    };
    add("Verdict", verdict(findings));
    add("Predicted, published, observed", tables(findings));
    let plates = pictures::plates(material);
    add("Figures", plates.into_iter().map(Block::Plate).collect());
    add("Who starves whom", contention(findings));
    add("Conclusions", conclusions(findings));
    add(
        "PublishedComparison the published results",
        agreement(findings),
    );
    add("Method", method(findings));
    add("Statistics", statistics(findings, material.trials));
    add("Environment", environment(&findings.environment));
    add("What to doubt", doubts(findings, material.trials));
    add("Repeat it", repeat(findings));
    add("Data", numbers(findings, data));
    let mut byline = vec![
        format!("study {}", findings.name),
        day(&findings.started),
        format!(
            "{} in {}",
            count(findings.trials, "trial"),
            count(measured(findings), "case")
        ),
    ];
    if findings.quick {
        byline.push("quick variant".to_owned());
    }
    byline.push(findings.id.chars().take(8).collect());
    Page {
        title: findings.title.clone(),
        lead: findings.question.clone(),
        byline,
        sections,
    }
}

/// The time of RFC 3339 without seconds, for people.
fn day(started: &str) -> String {
    match started.split_once('T') {
        Some((day, time)) if time.len() >= 5 && time.is_char_boundary(5) => {
            format!("{day} {} UTC", &time[..5])
        }
        _ => started.to_owned(),
    }
}

fn measured(findings: &Findings) -> u64 {
    findings
        .cases
        .iter()
        .filter(|case| case.alone.is_none() && case.n > 0)
        .count() as u64
}

fn conclusions(findings: &Findings) -> Vec<Block> {
    let items: Vec<Item> = findings
        .conclusions
        .iter()
        .map(|one| Item {
            mark: Mark::None,
            text: sentence(&one.text),
            more: one
                .answers
                .iter()
                .map(|question| format!("Answers: {question}"))
                .collect(),
        })
        .collect();
    if items.is_empty() {
        Vec::new()
    } else {
        vec![Block::List(items)]
    }
}

fn method(findings: &Findings) -> Vec<Block> {
    let mut blocks: Vec<Block> = findings
        .method
        .iter()
        .flat_map(|text| text.split("\n\n"))
        .filter(|text| !text.trim().is_empty())
        .map(|text| Block::Text(text.trim().to_owned()))
        .collect();
    if findings.quick {
        blocks.push(Block::Text(
            "This is the quick variant: fewer values and repetitions and shorter trials than the whole study."
                .to_owned(),
        ));
    }
    blocks
}

fn repeat(findings: &Findings) -> Vec<Block> {
    vec![Block::Command(findings.command.clone())]
}

/// An estimate with its interval in smaller letters, as far as a metric of that name can be.
fn estimate(estimate: Option<&Estimate>, name: &str, unit: &str) -> Cell {
    let Some(known) = estimate else {
        return Cell::default();
    };
    let unit = words::unit(unit);
    let range = find_metric(name).map(Metric::range);
    let possible = range.map_or(*known, |range| known.clamped_to(range));
    Cell {
        text: about(known.mean, unit),
        beside: words::interval(&possible, unit),
        mark: None,
    }
}
