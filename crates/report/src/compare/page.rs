//! A comparison as a page: what differs most, the differences with their intervals, every metric, and the conditions.

use super::comparison::{ComparedMetric, Comparison, SideDescription};
use super::direction::find_metric;
use super::figure::difference_figure;
use super::format::{change_text, side_text, trimmed, value_text};
use super::regression::RegressionOutcome;
use super::text::differences_first;
use crate::export::html::to_html;
use crate::export::page::{
    Block, CaptionedFigure, Cell, FigureGroup, HeadlineNumber, Item, Mark, Page, Section, Table,
    TableColumn,
};
use crate::export::wording::sentence;
use caudal_stats::MIN_TRIALS_OF_INTERVAL;

/// Maximum number of metrics with a number at the top of the page.
const MAX_NUMBERS: usize = 3;

/// The comparison as one HTML file without scripts or other files.
#[must_use]
pub fn comparison_as_html(comparison: &Comparison) -> String {
    let mut page = page(comparison);
    if let Some(result) = page.sections.first_mut() {
        result.blocks.splice(0..0, headline(comparison));
    }
    let figure = figure(comparison).map(|figure| Section {
        heading: "Differences".to_owned(),
        blocks: vec![figure],
    });
    page.sections.splice(1..1, figure);
    page.sections.extend(
        (comparison.cells.iter().any(|cell| cell.result.is_some())).then(|| Section {
            heading: "Statistics".to_owned(),
            blocks: Block::folded(
                "Tests of each difference",
                vec![Block::Table(statistics_table(comparison))],
            ),
        }),
    );
    page.sections.push(Section {
        heading: "Command".to_owned(),
        blocks: vec![Block::Command(format!(
            "caudal report compare {} {}",
            comparison.first.given, comparison.second.given
        ))],
    });
    to_html(&page)
}

/// What every form of a page has.
pub(super) fn page(comparison: &Comparison) -> Page {
    let side = |name: &str, side: &SideDescription| {
        (name.to_owned(), format!("{}, {}", side.given, side.what))
    };
    let mut verdict = comparison.verdict.iter();
    let mut blocks = Vec::new();
    if let (Some(regression), Some(first)) = (&comparison.regression, verdict.next()) {
        let text = first.replacen(": cannot tell: ", ": ", 1);
        blocks.push(Block::List(vec![Item {
            mark: mark_of_regression(regression.outcome),
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
            one.in_text(&one.first).join(", "),
            one.in_text(&one.second).join(", ")
        )
    });
    sections.extend(list("Notes", comparison.notes.clone()));
    sections.extend(list("Conditions that differ", environment.collect()));
    Page {
        title: format!(
            "{} against {}",
            comparison.second.given, comparison.first.given
        ),
        lead: None,
        byline: Vec::new(),
        sections,
    }
}

const fn mark_of_regression(outcome: RegressionOutcome) -> Mark {
    match outcome {
        RegressionOutcome::NotWorse => Mark::Holds,
        RegressionOutcome::Worse => Mark::Fails,
        RegressionOutcome::CannotTell => Mark::Open,
    }
}

/// The verdict in a frame, then the change of the metrics that differ most.
fn headline(comparison: &Comparison) -> Option<Block> {
    let shown = differences_first(&comparison.cells);
    let changes = shown.iter().filter_map(|cell| change(cell));
    let numbers = std::iter::once(verdict(comparison)).chain(changes.take(MAX_NUMBERS));
    Some(Block::Headline(numbers.collect()))
}

/// The verdict on all metrics in a word or two.
fn verdict(comparison: &Comparison) -> HeadlineNumber {
    let (value, mark) = match comparison.regression.as_ref().map(|one| one.outcome) {
        Some(outcome) => {
            let word = match outcome {
                RegressionOutcome::NotWorse => "not worse",
                RegressionOutcome::Worse => "worse",
                RegressionOutcome::CannotTell => "cannot tell",
            };
            (word, mark_of_regression(outcome))
        }
        None if comparison.cells.iter().any(is_shown_to_differ) => ("differs", Mark::None),
        None if comparison.cells.iter().all(is_too_little) => ("cannot tell", Mark::Open),
        None if comparison.cells.iter().all(is_equivalent) => ("equal", Mark::Holds),
        None => ("not shown to differ", Mark::None),
    };
    HeadlineNumber {
        mark,
        is_badge: true,
        ..HeadlineNumber::new("B against A", value.to_owned())
    }
}

/// `true` where the runs, or the intervals within two runs, show a difference.
fn is_shown_to_differ(cell: &ComparedMetric) -> bool {
    let within = cell.within_run;
    cell.result.is_some_and(|found| found.differs)
        || within.is_some_and(|within| within.low > 0.0 || within.high < 0.0)
}

/// `true` where nothing tells whether the sides differ.
fn is_too_little(cell: &ComparedMetric) -> bool {
    cell.result.is_none() && cell.within_run.is_none()
}

/// `true` where both sides are shown to be within the margin of each other.
fn is_equivalent(cell: &ComparedMetric) -> bool {
    let equivalence = cell.result.and_then(|found| found.equivalence);
    equivalence.is_some_and(|near| near.holds)
}

/// The change of a metric, marked as good or bad where it is shown and one of the two.
fn change(cell: &ComparedMetric) -> Option<HeadlineNumber> {
    let (first, second) = (cell.first?, cell.second?);
    let (a, b) = (first.mean.mean, second.mean.mean);
    let show = |value| value_text(cell.unit, value);
    let more_is_better = find_metric(&cell.metric).and_then(|metric| metric.more_is_better);
    let mark = match more_is_better {
        Some(better) if is_shown_to_differ(cell) && a != b => match (b > a) == better {
            true => Mark::Holds,
            false => Mark::Fails,
        },
        _ => Mark::None,
    };
    let part = (a != 0.0 && a != b).then(|| (b - a) / a.abs());
    let value = match part {
        Some(part) => {
            let (arrow, sign) = if part > 0.0 {
                ("↑", "+")
            } else {
                ("↓", "−")
            };
            format!("{arrow} {sign}{} %", trimmed(part.abs() * 100.0))
        }
        None if a == b => "no change".to_owned(),
        None => show(b),
    };
    Some(HeadlineNumber {
        beside: Some(format!("{} → {}", show(a), show(b))),
        mark,
        ..HeadlineNumber::new(&cell.name(), value)
    })
}

fn figure(comparison: &Comparison) -> Option<Block> {
    let figure = difference_figure(comparison)?;
    let caption = sentence(&figure.description);
    Some(Block::Figures(FigureGroup {
        title: String::new(),
        figures: vec![CaptionedFigure::new("01-differences", figure, caption)],
        notes: Vec::new(),
    }))
}

/// The metrics, a row each.
fn metrics_table(comparison: &Comparison) -> Table {
    let row = |cell: &ComparedMetric| {
        let check = cell.regression.as_ref();
        let result = check.map_or(cell.verdict.as_str(), |check| check.reason.as_str());
        let change = match (cell.first, cell.second) {
            (Some(first), Some(second)) => change_text(cell.unit, &first, &second),
            _ => String::new(),
        };
        let cells = vec![
            Cell::new(side_text(cell.unit, cell.first.as_ref())),
            Cell::new(side_text(cell.unit, cell.second.as_ref())),
            Cell::new(change),
            Cell::new(result),
        ];
        (cell.name(), cells)
    };
    Table {
        corner: "metric".to_owned(),
        columns: vec![
            TableColumn::number("A"),
            TableColumn::number("B"),
            TableColumn::number("change"),
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

/// The tests of each difference.
fn statistics_table(comparison: &Comparison) -> Table {
    let row = |cell: &ComparedMetric| {
        let found = cell.result?;
        let shift = found.shift.map(|shift| value_text(cell.unit, shift));
        let cells = [
            format!("{:.2}", found.t),
            format!("{:.1}", found.df),
            format!("{:.4}", found.p),
            format!("{:.4}", found.adjusted_p),
            format!("{:.4}", found.ranks.p),
            shift.unwrap_or_default(),
        ];
        Some((cell.name(), cells.map(Cell::new).to_vec()))
    };
    let columns = [
        "t (Welch)",
        "df",
        "p",
        "adjusted p (Holm)",
        "p (Mann–Whitney)",
        "shift (Hodges–Lehmann)",
    ];
    Table {
        caption: "B minus A".to_owned(),
        corner: "metric".to_owned(),
        columns: columns.map(TableColumn::number).to_vec(),
        rows: comparison.cells.iter().filter_map(row).collect(),
        ..Table::default()
    }
}
