//! The tables that the experiment asks for.

use super::super::page::{Block, Cell, Column, Table};
use super::super::words;
use super::published::beside;
use crate::study::findings::{self, Findings};

/// The tables of the experiment, then what was published beside what was observed.
pub(super) fn tables(findings: &Findings) -> Vec<Block> {
    let mut blocks: Vec<Block> = findings
        .tables
        .iter()
        .filter(|table| !table.rows.is_empty())
        .map(|table| Block::Table(of_findings(table, findings.confidence)))
        .collect();
    if !findings.published.is_empty() {
        blocks.push(Block::Table(beside(findings)));
    }
    blocks
}

fn of_findings(table: &findings::Table, confidence: f64) -> Table {
    let mut intervals = false;
    let rows = table.rows.iter().map(|(head, cells)| {
        let cells = cells.iter().map(|cell| {
            let beside = cell
                .interval
                .filter(|_| !cell.text.contains('±') && !cell.text.contains('–'))
                .and_then(|(low, high)| short_interval(&cell.text, cell.value?, low, high));
            intervals |= beside.is_some() || cell.text.contains('±');
            Cell {
                text: cell.text.clone(),
                beside,
                mark: None,
            }
        });
        (head.clone(), cells.collect())
    });
    let rows = rows.collect();
    Table {
        caption: table.title.clone(),
        corner: "case".to_owned(),
        columns: table
            .columns
            .iter()
            .map(|(group, name)| Column {
                group: words::metric(group),
                name: name.clone(),
                words: false,
            })
            .collect(),
        rows,
        note: intervals.then(|| interval_note(confidence)),
    }
}

fn interval_note(confidence: f64) -> String {
    format!(
        "Intervals: {} of the mean over the trials.",
        words::level(confidence)
    )
}

/// An interval in the unit its value is shown in.
fn short_interval(text: &str, value: f64, low: f64, high: f64) -> Option<String> {
    let unit = text.split_once(' ').map_or("", |(_, unit)| unit);
    // The shown value tells by which power its unit divides.
    let shown: f64 = text.split(' ').next()?.replace('−', "-").parse().ok()?;
    if shown == 0.0 || value == 0.0 || !low.is_finite() || !high.is_finite() {
        return None;
    }
    let scale = 10_f64.powi((value / shown).abs().log10().round() as i32);
    let digits = text
        .split(' ')
        .next()?
        .split_once('.')
        .map_or(0, |(_, behind)| behind.len());
    // Narrow intervals need a digit more than the value.
    let narrow = (high - low) / scale < 2.0 * 10_f64.powi(-(digits as i32));
    let digits = digits + usize::from(narrow);
    Some(
        format!("{:.digits$}–{:.digits$} {unit}", low / scale, high / scale)
            .trim_end()
            .to_owned(),
    )
}
