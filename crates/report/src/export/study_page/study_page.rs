//! The report of a study: the question, the results, and how far they can be trusted.

use super::agreement::agreement;
use super::environment::environment;
use super::numbers::numbers;
use super::starvation::starvation;
use super::statistics::statistics;
use super::tables::tables;
use super::verdict::verdict;
use super::warnings::warnings;
use crate::export::figures::{self, StudyMaterial};
use crate::export::page::{Block, Item, Mark, Page, Section};
use crate::export::wording::{count, sentence};
use caudal_experiment::findings::Findings;

/// The report of a study. With `data`, the findings are in the file of that name beside it.
#[must_use]
pub fn study_page(material: &StudyMaterial<'_>, data: Option<&str>) -> Page {
    let findings = material.findings;
    let figures = figures::figure_groups(material).into_iter();
    let sections = [
        ("Verdict", verdict(findings)),
        ("Conclusions", conclusions(findings)),
        ("Predicted, published, observed", tables(findings)),
        ("Figures", figures.map(Block::Figures).collect()),
        ("Starvation", starvation(findings)),
        ("Beside the published results", agreement(findings)),
        ("Method", method(findings)),
        ("Statistics", statistics(findings, material.trials)),
        ("Environment", environment(&findings.environment)),
        ("Warnings", warnings(findings, material.trials)),
        ("Command", vec![Block::Command(findings.command.clone())]),
        ("Data", numbers(findings, data)),
    ];
    let sections = sections
        .into_iter()
        .filter(|(_, blocks)| !blocks.is_empty());
    Page {
        title: findings.title.clone(),
        lead: findings.question.clone(),
        byline: byline(findings),
        sections: sections
            .map(|(heading, blocks)| Section {
                heading: heading.to_owned(),
                blocks,
            })
            .collect(),
    }
}

/// The particulars of the study.
fn byline(findings: &Findings) -> Vec<String> {
    let mut byline = vec![
        format!("study {}", findings.name),
        minute(&findings.started),
        format!(
            "{} in {}",
            count(findings.trials, "trial"),
            count(measured_cases(findings), "case")
        ),
    ];
    if findings.quick {
        byline.push("quick variant".to_owned());
    }
    byline.push(findings.id.chars().take(8).collect());
    byline
}

/// A time of RFC 3339 to the minute, for people.
fn minute(started: &str) -> String {
    match started.split_once('T') {
        Some((date, time)) if time.len() >= 5 && time.is_char_boundary(5) => {
            format!("{date} {} UTC", &time[..5])
        }
        _ => started.to_owned(),
    }
}

/// The number of cases with valid trials, solo baselines apart.
fn measured_cases(findings: &Findings) -> u64 {
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
            "This is the quick variant: fewer values and repetitions, and shorter trials, than in the whole study."
                .to_owned(),
        ));
    }
    blocks
}
