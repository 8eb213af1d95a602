//! The places of the data, and a table of all metrics.

use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::wording::{self, about};
use caudal_experiment::Metric;
use caudal_experiment::expression::find_metric;
use caudal_experiment::findings::{CaseFindings, Findings, MetricFindings};
use caudal_stats::Estimate;

/// Maximum number of rows; the others are in the data.
const MAX_ROWS: usize = 300;
/// Maximum number of values in a row.
const MAX_VALUES: usize = 30;

/// The places of the data, and a table of all metrics.
pub(super) fn numbers(findings: &Findings, data: Option<&str>) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(name) = data {
        blocks.push(Block::Link(
            format!("All findings as JSON: {name}"),
            name.to_owned(),
        ));
    }
    let id: String = findings.id.chars().take(12).collect();
    blocks.push(Block::Text(
        "From the store that has the study, findings and every interval of every trial:".to_owned(),
    ));
    blocks.push(Block::Command(format!(
        "caudal report export {id} --json\ncaudal report export {id} --csv"
    )));
    let all: Vec<(&CaseFindings, &String, &MetricFindings)> = findings
        .cases
        .iter()
        .flat_map(|case| {
            case.metrics
                .iter()
                .map(move |(name, known)| (case, name, known))
        })
        .filter(|(_, _, known)| !known.values.is_empty())
        .collect();
    if !all.is_empty() {
        let table = Block::Table(metrics_table(&all));
        blocks.push(Block::Details("The numbers".to_owned(), vec![table]));
    }
    blocks
}

/// The table of the metrics of all cases, a row each.
fn metrics_table(all: &[(&CaseFindings, &String, &MetricFindings)]) -> Table {
    let rows = all
        .iter()
        .take(MAX_ROWS)
        .map(|(case, name, known)| (case.key.clone(), metric_cells(name, known)));
    Table {
        caption: "Every metric of every case".to_owned(),
        corner: "case".to_owned(),
        columns: vec![
            TableColumn::words("metric"),
            TableColumn::words("unit"),
            TableColumn::number("observed"),
            TableColumn::number("predicted"),
            TableColumn::number("n"),
            TableColumn::words("each trial, in the unit"),
        ],
        rows: rows.collect(),
        note: (all.len() > MAX_ROWS).then(|| {
            format!(
                "{MAX_ROWS} of {} rows; the others are in the data.",
                all.len()
            )
        }),
    }
}

/// The cells of a metric: its name, unit, observed and predicted value, and the value of each trial.
fn metric_cells(name: &str, known: &MetricFindings) -> Vec<Cell> {
    let unit = wording::unit(known.unit);
    let values: Vec<String> = known
        .values
        .iter()
        .take(MAX_VALUES)
        .map(|value| number(*value))
        .collect();
    let more = known.values.len().saturating_sub(MAX_VALUES);
    let more = if more > 0 {
        format!(" … {more} more")
    } else {
        String::new()
    };
    vec![
        Cell::new(name),
        Cell::new(known.unit),
        estimate_cell(known.observed.as_ref(), name, known.unit),
        Cell::new(
            known
                .predicted
                .map_or(String::new(), |value| about(value, unit)),
        ),
        Cell::new(known.values.len().to_string()),
        Cell::new(format!("{}{more}", values.join(" "))),
    ]
}

/// A number with six digits, as short as it can be.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// An estimate with its interval in small print, clamped to the range of the metric of that name.
pub(super) fn estimate_cell(estimate: Option<&Estimate>, name: &str, unit: &str) -> Cell {
    let Some(known) = estimate else {
        return Cell::default();
    };
    let unit = wording::unit(unit);
    let range = find_metric(name).map(Metric::range);
    let possible = range.map_or(*known, |range| known.clamped_to(range));
    Cell {
        text: about(known.mean, unit),
        beside: wording::interval(&possible, unit),
        mark: None,
    }
}
