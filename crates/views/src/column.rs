//! Tables of comma-separated values as data: each column has its name, its unit, what it means, when it is present, and its cell of a row.

use serde::Serialize;
use std::fmt::Display;

/// A column of a table whose rows are made from `Row`s.
#[derive(Debug)]
pub struct Column<Row: ?Sized> {
    /// The name, as the header has it.
    pub name: &'static str,
    /// The unit of the values; empty where they have none.
    pub unit: &'static str,
    /// When a row has a value; empty in tables that do not tell.
    pub present: &'static str,
    /// What the values are, for the reference.
    pub meaning: &'static str,
    /// The cell of a row, without quotation marks; empty where the row has no value.
    pub cell: fn(&Row) -> String,
}

impl<Row: ?Sized> Column<Row> {
    /// A column.
    #[must_use]
    pub const fn new(
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        cell: fn(&Row) -> String,
    ) -> Self {
        Self {
            name,
            unit,
            present: "",
            meaning,
            cell,
        }
    }

    /// A column of a table that tells when each is present.
    #[must_use]
    pub const fn when(
        present: &'static str,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        cell: fn(&Row) -> String,
    ) -> Self {
        Self {
            present,
            ..Self::new(name, unit, meaning, cell)
        }
    }
}

/// The names of the columns as a line.
#[must_use]
pub fn header<Row: ?Sized>(columns: &[Column<Row>]) -> String {
    line(columns.iter().map(|column| column.name))
}

/// The cells of a row as a line.
#[must_use]
pub fn row<Row: ?Sized>(columns: &[Column<Row>], row: &Row) -> String {
    line(columns.iter().map(|column| (column.cell)(row)))
}

/// Cells as a line, each in quotation marks where it needs them (RFC 4180, section 2).
#[must_use]
pub fn line(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut line = String::new();
    for (nth, cell) in cells.into_iter().enumerate() {
        let cell = cell.as_ref();
        if nth > 0 {
            line.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            line.push('"');
            line += &cell.replace('"', "\"\"");
            line.push('"');
        } else {
            line += cell;
        }
    }
    line
}

/// The cell of a value that may be absent.
pub fn optional(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The cell of a number with this many digits after the point, which may be absent.
pub fn fixed(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(String::new, |value| format!("{value:.digits$}"))
}

/// The cell of a value that JSON writes as a name.
pub fn name_in_json(value: &impl Serialize) -> String {
    let name = serde_json::to_value(value).unwrap_or_default();
    name.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column<(u32, Option<f64>)>; 2] = [
        Column::new("count", "", "a count", |row| row.0.to_string()),
        Column::when("sometimes", "time_s", "s", "a time", |row| fixed(row.1, 2)),
    ];

    #[test]
    fn a_list_of_columns_gives_the_header_and_each_row() {
        assert_eq!(header(&COLUMNS), "count,time_s");
        assert_eq!(row(&COLUMNS, &(3, Some(0.5))), "3,0.50");
        assert_eq!(row(&COLUMNS, &(3, None)), "3,");
        assert_eq!(COLUMNS[1].present, "sometimes");
    }

    #[test]
    fn cells_that_would_break_a_line_are_quoted() {
        for (cell, quoted) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(line([cell, "1"]), format!("{quoted},1"));
        }
    }
}
