//! The tables that the experiment asks for.

use super::published::beside;
use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::wording;
use caudal_experiment::findings::{self, Findings};

/// Maximum columns beside the heads of rows: what the width of a page holds without wrapping numbers.
const MAX_COLUMNS: usize = 7;

/// The tables of the experiment, then what was published beside what was observed.
pub(super) fn tables(findings: &Findings) -> Vec<Block> {
    let mut blocks: Vec<Block> = findings
        .tables
        .iter()
        .filter(|table| !table.rows.is_empty())
        .flat_map(|table| in_parts(of_findings(table, findings.confidence)))
        .map(Block::Table)
        .collect();
    if !findings.published.is_empty() {
        blocks.push(Block::Table(beside(findings)));
    }
    blocks
}

/// A table as several where it is wider than a printed page, each with whole groups of columns.
fn in_parts(table: Table) -> Vec<Table> {
    let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
    let mut from = 0;
    for group in table.columns.chunk_by(|a, b| a.group == b.group) {
        let until = from + group.len();
        match parts.last_mut() {
            Some(part) if until - part.start <= MAX_COLUMNS => part.end = until,
            _ => parts.push(from..until),
        }
        from = until;
    }
    if parts.len() < 2 {
        return vec![table];
    }
    let last = parts.len() - 1;
    let part = |(nth, part): (usize, &std::ops::Range<usize>)| {
        let row =
            |(head, cells): &(String, Vec<Cell>)| (head.clone(), cells[part.clone()].to_vec());
        let caption = match (nth, table.caption.as_str()) {
            (0, caption) => caption.to_owned(),
            (_, caption) => format!("{caption}, continued")
                .trim_start_matches(", ")
                .to_owned(),
        };
        Table {
            caption,
            corner: table.corner.clone(),
            columns: table.columns[part.clone()].to_vec(),
            rows: table.rows.iter().map(row).collect(),
            note: table.note.clone().filter(|_| nth == last),
        }
    };
    parts.iter().enumerate().map(part).collect()
}

fn of_findings(table: &findings::FindingsTable, confidence: f64) -> Table {
    let mut intervals = false;
    let rows = table.rows.iter().map(|(head, cells)| {
        let cells = cells.iter().map(|cell| {
            if let Some((mean, half)) = cell.text.split_once(" ± ") {
                intervals = true;
                return Cell {
                    text: mean.to_owned(),
                    beside: Some(format!("± {half}")),
                    mark: None,
                };
            }
            let beside = cell
                .interval
                .filter(|_| !cell.text.contains('–'))
                .and_then(|(low, high)| short_interval(&cell.text, cell.value?, low, high));
            intervals |= beside.is_some();
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
            .map(|(group, name)| TableColumn {
                group: wording::metric(group),
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
        wording::level(confidence)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_table_continues_below_with_whole_groups_and_all_its_cells() {
        let column = |group: &str, name: &str| TableColumn {
            group: group.to_owned(),
            name: name.to_owned(),
            words: false,
        };
        let groups = [("a", 3), ("b", 3), ("c", 2), ("d", 1)];
        let columns: Vec<TableColumn> = groups
            .iter()
            .flat_map(|(group, count)| (0..*count).map(|nth| column(group, &nth.to_string())))
            .collect();
        let cells = (0..columns.len())
            .map(|nth| Cell::new(nth.to_string()))
            .collect();
        let table = Table {
            caption: "loads".to_owned(),
            corner: "case".to_owned(),
            columns: columns.clone(),
            rows: vec![("one".to_owned(), cells)],
            note: Some("intervals".to_owned()),
        };
        let parts = in_parts(table.clone());
        let [first, second] = parts.as_slice() else {
            panic!("{parts:#?}")
        };
        assert_eq!(first.columns, columns[..6]);
        assert_eq!(second.columns, columns[6..]);
        assert_eq!(second.caption, "loads, continued");
        assert_eq!(second.rows[0].1[0].text, "6");
        assert_eq!((&first.note, &second.note), (&None, &table.note));
        // What fits stays as it is.
        assert_eq!(in_parts(first.clone()), std::slice::from_ref(first));
    }
}
