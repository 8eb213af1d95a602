//! The report of a single run, whichever tool measured it.

use super::capture_section::capture;
use super::headline::headline;
use super::page::{Block, Cell, Item, Mark, Page, Section, Table, TableColumn};
use super::study_page::{counted_items, environment};
use super::wording::{self, about};
use crate::kind_report::KindReport;
use crate::kinds::kind_report;
use caudal_core::episode::Episode;
use caudal_core::prediction::PredictionCheck;
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_core::text::ExternalText;
use caudal_store::SampleSeries;
use caudal_views::next_step::next_step_lines;
use caudal_views::width::LineWidth;

/// Maximum number of episodes that a page shows.
const MAX_EPISODES: usize = 30;

/// The report of a run. With `data`, its document is in the file of that name beside it.
#[must_use]
pub fn run_page(run: &Run, series: &[SampleSeries], data: Option<&str>) -> Page {
    let kind = kind_report(run.kind());
    let environment = run.environment.as_ref().map(environment);
    let mut sections = vec![
        ("Result", result(run, kind)),
        ("Episodes", episodes(&run.episodes)),
        ("Predicted, observed", predictions(run.predictions())),
    ];
    sections.extend(kind.sections(run, series));
    sections.extend([
        ("Warnings", warnings(run)),
        ("Capture", capture(run)),
        ("Command", command(run)),
        (
            "Environment",
            Block::folded("Both machines", environment.unwrap_or_default()),
        ),
        (
            "Data",
            Block::folded("Where the numbers are", raw_data(run, data)),
        ),
    ]);
    let sections = sections
        .into_iter()
        .filter(|(_, blocks)| !blocks.is_empty());
    Page {
        title: title(run, kind),
        lead: None,
        byline: byline(run),
        sections: sections
            .map(|(heading, blocks)| Section {
                heading: heading.to_owned(),
                blocks,
            })
            .collect(),
    }
}

fn title(run: &Run, kind: &dyn KindReport) -> String {
    let workload = kind.title();
    match run.plan.peer() {
        Some(peer) => format!("{workload} to {peer}"),
        None => workload.to_owned(),
    }
}

fn byline(run: &Run) -> Vec<String> {
    let header = &run.header;
    let version = header
        .tool
        .version
        .as_ref()
        .map(ExternalText::as_received)
        .unwrap_or("");
    let started = Some(&header.started).filter(|started| !started.is_empty());
    let imported = run.imported.as_ref();
    let parts = [
        started.cloned(),
        Some(
            format!("{} {version}", header.tool.name)
                .trim_end()
                .to_owned(),
        ),
        imported.map(|import| format!("imported from {}", import.file)),
        Some(header.id.chars().take(8).collect()),
    ];
    parts.into_iter().flatten().collect()
}

/// The results in sentences.
fn result(run: &Run, kind: &dyn KindReport) -> Vec<Block> {
    let mut sentences = kind.sentences(run);
    if let Some(search) = run.search() {
        sentences.push(match search.found.rate_bps {
            Some(rate) => format!(
                "The highest rate within the loss limit is {} of payload a flow.",
                about(rate as f64, Unit::BitPerSecond)
            ),
            None => "No rate was within the loss limit.".to_owned(),
        });
    }
    if sentences.is_empty() {
        sentences.push("The run has no result.".to_owned());
    }
    let numbers = headline(run);
    let numbers = (!numbers.is_empty()).then_some(Block::Headline(numbers));
    let sentences = sentences.into_iter().map(Block::Lead);
    numbers
        .into_iter()
        .chain(sentences)
        .chain(next_steps(run))
        .collect()
}

/// The commands of the next steps, which the sentences before them name.
fn next_steps(run: &Run) -> Vec<Block> {
    // Too narrow for any line: a command then has one of its own.
    let width = LineWidth::of_columns(0);
    let mut commands: Vec<String> = Vec::new();
    for summary in run.directions() {
        let Some(step) = &summary.next_step else {
            continue;
        };
        let lines = next_step_lines(run, summary.direction, &step.remedy, "", width);
        for line in lines {
            if let Some(command) = line.strip_prefix("    ")
                && !commands.iter().any(|known| known == command)
            {
                commands.push(command.to_owned());
            }
        }
    }
    commands.into_iter().map(Block::Command).collect()
}

/// The times in which the test did not run its usual course.
fn episodes(episodes: &[Episode]) -> Vec<Block> {
    if episodes.is_empty() {
        return Vec::new();
    }
    let row = |episode: &Episode| {
        let seconds = |at_s: f64| Cell::new(Unit::Seconds.show(at_s));
        let (name, _) = episode.kind.names();
        let name = match episode.direction {
            Some(direction) => format!("{}: {name}", direction.in_text()),
            None => name.to_owned(),
        };
        let to = episode
            .to_s
            .map_or_else(|| Cell::new("to the end"), seconds);
        let cells = vec![
            seconds(episode.from_s),
            to,
            Cell::new(episode.evidence.clone()),
        ];
        (name, cells)
    };
    let mut columns = ["from", "to"].map(TableColumn::number).to_vec();
    columns.push(TableColumn::words("evidence"));
    vec![Block::Table(Table {
        caption: "Times in which the test did not run its usual course".to_owned(),
        corner: "episode".to_owned(),
        columns,
        rows: episodes.iter().take(MAX_EPISODES).map(row).collect(),
        note: (episodes.len() > MAX_EPISODES).then(|| {
            let more = episodes.len() - MAX_EPISODES;
            format!(
                "{} are in the data.",
                wording::count(more as u64, "more episode")
            )
        }),
    })]
}

fn predictions(checks: &[PredictionCheck]) -> Vec<Block> {
    if checks.is_empty() {
        return Vec::new();
    }
    let row = |check: &PredictionCheck| {
        let prediction = &check.prediction;
        let value = |value: f64| Cell::new(about(value, prediction.unit));
        let difference = check.difference.map_or(String::new(), wording::percent);
        let word = match (check.holds, check.is_upper_bound()) {
            (true, true) => "a bound, which holds",
            (true, false) => "yes",
            (false, _) => "no",
        };
        let at_most = if check.is_upper_bound() {
            "at most "
        } else {
            ""
        };
        let why = check
            .why
            .as_ref()
            .map_or(String::new(), |why| format!(": {why}"));
        let cells = vec![
            Cell::new(format!(
                "{at_most}{}",
                about(prediction.value, prediction.unit)
            )),
            value(check.observed),
            Cell::new(difference),
            Cell {
                text: format!("{word}{why}"),
                beside: None,
                mark: Some(Mark::from(Some(check.holds))),
            },
        ];
        (prediction.title.clone(), cells)
    };
    let mut columns = ["predicted", "observed", "difference"]
        .map(TableColumn::number)
        .to_vec();
    columns.push(TableColumn::words("within tolerance"));
    vec![Block::Table(Table {
        caption: "Predictions beside the values observed".to_owned(),
        corner: "prediction".to_owned(),
        columns,
        rows: checks.iter().map(row).collect(),
        note: None,
    })]
}

fn warnings(run: &Run) -> Vec<Block> {
    let cut_short = run
        .round_trips()
        .and_then(|summary| summary.cut_short.as_ref());
    let cut_short = cut_short.map(|why| format!("the run ended early: {why}"));
    let warnings = run.warnings.iter().map(|warning| {
        if warning.remedy.is_empty() {
            warning.message.to_string()
        } else {
            format!("{}; {}", warning.message, warning.remedy)
        }
    });
    let items: Vec<Item> = counted_items(cut_short.into_iter().chain(warnings));
    if items.is_empty() {
        vec![Block::Text("There are no warnings.".to_owned())]
    } else {
        vec![Block::List(items)]
    }
}

fn command(run: &Run) -> Vec<Block> {
    let command = run.header.command.iter();
    command
        .map(|command| Block::Command(command.to_string()))
        .collect()
}

fn raw_data(run: &Run, data: Option<&str>) -> Vec<Block> {
    let id: String = run.header.id.chars().take(12).collect();
    let file = data.map(|name| {
        let text = format!("The whole run as JSON: {name}");
        Block::Link(text, name.to_owned())
    });
    let from_store = [
        Block::Text("From the store that has the run:".to_owned()),
        Block::Command(format!(
            "caudal report export {id} --json\ncaudal report export {id} --csv"
        )),
    ];
    file.into_iter().chain(from_store).collect()
}
