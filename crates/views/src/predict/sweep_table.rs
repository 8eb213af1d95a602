//! The table of a sweep, a row for each value of the parameter.

use super::table::value_text;
use crate::aligned::Alignment::Right;
use crate::aligned::aligned;
use crate::text::{WIDTH, wrap};
use caudal_predict::question::{Parameter, SweepPoint};

/// The lines of the table; columns that do not fit in 80 characters follow in a table of their own.
pub(super) fn sweep_table(
    parameter: &Parameter,
    points: &[SweepPoint],
    names: &[String],
) -> Vec<String> {
    let values = points.iter().map(|point| parameter.kind.show(point.value));
    let heads = SweepColumn {
        title: vec![parameter.name.to_owned()],
        cells: values.collect(),
    };
    let columns = names.iter().map(|name| SweepColumn::new(name, points));
    let mut lines = Vec::new();
    for table in split_to_width(columns, heads.width()) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(table_lines(&heads, &table));
    }
    lines
}

/// A column of the table: the values of the parameter, or those of one prediction.
struct SweepColumn {
    /// The title, in lines no wider than the column.
    title: Vec<String>,
    cells: Vec<String>,
}

impl SweepColumn {
    /// The values of one prediction along the sweep, below its title.
    fn new(name: &str, points: &[SweepPoint]) -> Self {
        let found = || points.iter().map(|point| point.prediction(name));
        let cells: Vec<String> = found().map(value_text).collect();
        let title = found().flatten().next();
        let title = title.map_or(name, |prediction| prediction.title.as_str());
        let width = max_width(cells.iter().map(String::as_str).chain(title.split(' ')));
        Self {
            title: wrap(title, width),
            cells,
        }
    }

    fn width(&self) -> usize {
        max_width(self.title.iter().chain(&self.cells).map(String::as_str))
    }
}

fn max_width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// The columns in as many tables as it takes for each to fit; at least one, which may be empty.
fn split_to_width(
    columns: impl Iterator<Item = SweepColumn>,
    head_width: usize,
) -> Vec<Vec<SweepColumn>> {
    let mut tables = Vec::new();
    let mut table: Vec<SweepColumn> = Vec::new();
    let mut used = head_width;
    for column in columns {
        let width = column.width();
        if used + 2 + width > WIDTH && !table.is_empty() {
            tables.push(std::mem::take(&mut table));
            used = head_width;
        }
        used += 2 + width;
        table.push(column);
    }
    tables.push(table);
    tables
}

/// The titles, aligned at the bottom, and a line for each value of the parameter.
fn table_lines(heads: &SweepColumn, table: &[SweepColumn]) -> Vec<String> {
    let columns = || std::iter::once(heads).chain(table);
    let height = columns().map(|column| column.title.len()).max();
    let height = height.unwrap_or(1);
    let title = |number: usize| {
        let cells = columns().map(|column| {
            let part = (number + column.title.len()).checked_sub(height);
            let part = part.and_then(|part| column.title.get(part));
            part.cloned().unwrap_or_default()
        });
        cells.collect::<Vec<String>>()
    };
    let values = |number: usize| {
        columns()
            .map(|column| column.cells[number].clone())
            .collect()
    };
    let rows = (0..height).map(title);
    let rows: Vec<Vec<String>> = rows.chain((0..heads.cells.len()).map(values)).collect();
    aligned(&rows, &[Right])
}
