//! A comparison as Markdown, for a merge request or the summary of a CI job.

use super::comparison::{ComparedMetric, Comparison, SideDescription};
use super::format::{trimmed, value_text};
use super::regression::RegressionOutcome;
use crate::export::markdown::markdown;
use crate::export::page::{Block, Cell, Item, Mark, Page, Section, Table, TableColumn};
use caudal_core::quantity::Unit;
use caudal_stats::{MIN_TRIALS_OF_INTERVAL, SideSummary};

/// The comparison as Markdown.
#[must_use]
pub fn comparison_as_markdown(comparison: &Comparison) -> String {
    let side = |name: &str, side: &SideDescription| {
        (name.to_owned(), format!("{}, {}", side.given, side.what))
    };
    let mut verdict = comparison.verdict.iter();
    let mut blocks = Vec::new();
    if let (Some(regression), Some(first)) = (&comparison.regression, verdict.next()) {
        let mark = match regression.outcome {
            RegressionOutcome::NotWorse => Mark::Holds,
            RegressionOutcome::Worse => Mark::Fails,
            RegressionOutcome::CannotTell => Mark::Open,
        };
        let text = first.replacen(": cannot tell: ", ": ", 1);
        blocks.push(Block::List(vec![Item {
            mark,
            text,
            more: Vec::new(),
        }]));
    }
    blocks.extend(verdict.map(|line| Block::Text(line.clone())));
    blocks.push(Block::Facts(vec![
        side("A", &comparison.first),
        side("B", &comparison.second),
    ]));
    blocks.push(Block::Table(metrics_table(comparison)));
    let mut sections = vec![Section {
        heading: "Result".to_owned(),
        blocks,
    }];
    let list = |heading: &str, lines: Vec<String>| {
        (!lines.is_empty()).then(|| Section {
            heading: heading.to_owned(),
            blocks: vec![Block::List(lines.into_iter().map(Item::plain).collect())],
        })
    };
    let environment = comparison.environment.iter().map(|one| {
        format!(
            "{}: A {}, B {}",
            one.name(),
            one.first.join(", "),
            one.second.join(", ")
        )
    });
    sections.extend(list("Notes", comparison.notes.clone()));
    sections.extend(list("Conditions that differ", environment.collect()));
    let page = Page {
        title: format!(
            "{} against {}",
            comparison.second.given, comparison.first.given
        ),
        lead: None,
        byline: Vec::new(),
        sections,
    };
    markdown(&page, None)
}

/// The metrics, a row each.
fn metrics_table(comparison: &Comparison) -> Table {
    let row = |cell: &ComparedMetric| {
        let check = cell.regression.as_ref();
        let result = check.map_or(cell.verdict.as_str(), |check| check.reason.as_str());
        let cells = vec![
            Cell::new(side_text(cell.unit, cell.first.as_ref())),
            Cell::new(side_text(cell.unit, cell.second.as_ref())),
            Cell::new(result),
        ];
        (cell.name(), cells)
    };
    Table {
        corner: "metric".to_owned(),
        columns: vec![
            TableColumn::number("A"),
            TableColumn::number("B"),
            TableColumn::words("result"),
        ],
        rows: comparison.cells.iter().map(row).collect(),
        note: Some(format!(
            "Means with their {} % intervals; of fewer than {MIN_TRIALS_OF_INTERVAL} runs the minimum and the maximum.",
            trimmed(comparison.confidence * 100.0)
        )),
        ..Table::default()
    }
}

/// The mean of a side with its interval.
fn side_text(unit: Option<Unit>, side: Option<&SideSummary>) -> String {
    let Some(side) = side else {
        return "–".to_owned();
    };
    let mean = value_text(unit, side.mean.mean);
    if side.n == 1 {
        return mean;
    }
    let (low, high) = (
        value_text(unit, side.mean.low),
        value_text(unit, side.mean.high),
    );
    format!("{mean} ({low} to {high}), n {}", side.n)
}
