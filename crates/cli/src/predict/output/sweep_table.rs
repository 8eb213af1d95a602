//! The table of a sweep, a row for each value of the parameter.

use super::columns::prediction_named;
use crate::predict::evaluation::SweepPoint;
use crate::predict::parameter::Parameter;
use caudal_views::text::WIDTH;
use caudal_views::text::wrap;

/// The lines of the table; columns that do not fit in 80 characters follow in a table of their own.
pub(super) fn sweep_table(
    parameter: &Parameter,
    points: &[SweepPoint],
    names: &[String],
) -> Vec<String> {
    let row_heads: Vec<String> = points
        .iter()
        .map(|point| parameter.kind.show(point.value))
        .collect();
    let row_heads = RowHeads {
        title: parameter.name,
        width: max_width(row_heads.iter().map(String::as_str).chain([parameter.name])),
        cells: row_heads,
    };
    let columns = names.iter().map(|name| SweepColumn::new(name, points));
    let mut lines = Vec::new();
    for table in split_to_width(columns, row_heads.width) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(title_lines(&row_heads, &table));
        lines.extend(value_lines(&row_heads, &table));
    }
    lines
}

/// The column of the parameter's values.
struct RowHeads<'a> {
    title: &'a str,
    cells: Vec<String>,
    width: usize,
}

/// The column of one prediction.
struct SweepColumn {
    title: Vec<String>,
    cells: Vec<String>,
    width: usize,
}

impl SweepColumn {
    /// The values of one prediction along the sweep, below its title.
    fn new(name: &str, points: &[SweepPoint]) -> Self {
        let value = |point: &SweepPoint| {
            prediction_named(&point.predictions, name).map_or_else(
                || "–".to_owned(),
                |prediction| prediction.unit_value().to_string(),
            )
        };
        let cells: Vec<String> = points.iter().map(value).collect();
        let title = points
            .iter()
            .find_map(|point| prediction_named(&point.predictions, name))
            .map_or(name, |prediction| prediction.title.as_str());
        let width = max_width(cells.iter().map(String::as_str).chain(title.split(' ')));
        Self {
            title: wrap(title, width),
            cells,
            width,
        }
    }
}

fn max_width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// The columns in as many tables as it takes for each to fit; at least one, which may be empty.
fn split_to_width(
    columns: impl Iterator<Item = SweepColumn>,
    row_head_width: usize,
) -> Vec<Vec<SweepColumn>> {
    let mut tables = Vec::new();
    let mut table: Vec<SweepColumn> = Vec::new();
    let mut used = row_head_width;
    for column in columns {
        if used + 2 + column.width > WIDTH && !table.is_empty() {
            tables.push(std::mem::take(&mut table));
            used = row_head_width;
        }
        used += 2 + column.width;
        table.push(column);
    }
    tables.push(table);
    tables
}

/// The titles, aligned at the bottom; the name of the parameter is on the last line.
fn title_lines(row_heads: &RowHeads<'_>, table: &[SweepColumn]) -> Vec<String> {
    let height = table.iter().map(|column| column.title.len()).max();
    let height = height.unwrap_or(1);
    let line = |number: usize| {
        let head = if number + 1 == height {
            row_heads.title
        } else {
            ""
        };
        let cells = table.iter().map(|column| {
            let first = height - column.title.len();
            let cell = number.checked_sub(first);
            cell.and_then(|part| column.title.get(part))
        });
        row(row_heads, head, table, cells)
    };
    (0..height).map(line).collect()
}

fn value_lines(row_heads: &RowHeads<'_>, table: &[SweepColumn]) -> Vec<String> {
    let heads = row_heads.cells.iter().enumerate();
    heads
        .map(|(number, head)| {
            let cells = table.iter().map(|column| column.cells.get(number));
            row(row_heads, head, table, cells)
        })
        .collect()
}

/// A line of cells, aligned to the right.
fn row<'a>(
    row_heads: &RowHeads<'_>,
    head: &str,
    table: &[SweepColumn],
    cells: impl Iterator<Item = Option<&'a String>>,
) -> String {
    let mut line = format!("{head:>width$}", width = row_heads.width);
    for (column, cell) in table.iter().zip(cells) {
        let cell = cell.map_or("", String::as_str);
        line += &format!("  {cell:>width$}", width = column.width);
    }
    line.trim_end().to_owned()
}
