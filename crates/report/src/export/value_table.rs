//! The table of values: its columns, and a row for each value.

use caudal_stats::{Estimate, IntervalMethod};
use caudal_views::column::{Column, fixed, optional};

/// A row of the table.
#[derive(Debug, Clone, Default)]
pub struct ValueRow<'a> {
    pub(crate) kind: &'static str,
    pub(crate) id: &'a str,
    pub(crate) case: &'a str,
    pub(crate) alone: &'a str,
    pub(crate) trial: &'a str,
    pub(crate) repeat: Option<u64>,
    pub(crate) discarded: Option<bool>,
    pub(crate) flow: &'a str,
    pub(crate) metric: &'a str,
    pub(crate) unit: &'a str,
    pub(crate) start_s: Option<f64>,
    pub(crate) end_s: Option<f64>,
    pub(crate) value: f64,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) n: Option<u64>,
    pub(crate) trusted: Option<bool>,
    pub(crate) parameters: &'a [String],
}

impl ValueRow<'_> {
    /// The columns. A study adds a column for each parameter, `parameter_NAME`.
    pub const COLUMNS: [Column<Self>; 17] = [
        Column::new(
            "kind",
            "",
            "the kind of the row: `estimate` over all trials of a case (or of a run, or over the runs of `--repeat`), `run` for one run of several, `predicted`, `simulated`, `published`, `trial` for one trial's value, `episode` for a time in which a run did not run its usual course (its length; `metric` is its kind; one that lasts to the end ends with the last interval), `interval` for a part of a trial or run, `sample` for one round trip or file transfer",
            |row| row.kind.to_owned(),
        ),
        Column::new("id", "", "the study's or run's id", |row| row.id.to_owned()),
        Column::new(
            "case",
            "",
            "the case's key; the phase of a run of latency under load; the content of a file transfer; `hop N` of a path, for the hop and the link that leads to it, and `up` or `down` for a direction between its ends; otherwise empty for a run",
            |row| row.case.to_owned(),
        ),
        Column::new(
            "alone",
            "",
            "the flow that is alone, for a solo baseline",
            |row| row.alone.to_owned(),
        ),
        Column::new("trial", "", "the trial's id", |row| row.trial.to_owned()),
        Column::new(
            "repeat",
            "",
            "the trial's repetition of its case, or the run of `--repeat`, from 1",
            |row| optional(row.repeat),
        ),
        Column::new(
            "discarded",
            "0 or 1",
            "1 where the trial is discarded",
            |row| optional(row.discarded.map(u8::from)),
        ),
        Column::new(
            "flow",
            "",
            "the flow's name, or its number in a run; a link's name as `links.NAME`; the address of a hop",
            |row| row.flow.to_owned(),
        ),
        Column::new("metric", "", "the metric, such as `goodput`", |row| {
            row.metric.to_owned()
        }),
        Column::new(
            "unit",
            "",
            "the base unit of the value: `bit/s`, `bytes`, `s`, `share` (0 to 1), `segments`, `datagrams` …",
            |row| row.unit.to_owned(),
        ),
        Column::new(
            "start_s",
            "s",
            "the beginning of the interval, after the start of the trial or run; of a sample its number, from 0",
            |row| fixed(row.start_s.filter(|at| at.is_finite()), 6),
        ),
        Column::new("end_s", "s", "the end of the interval", |row| {
            fixed(row.end_s.filter(|at| at.is_finite()), 6)
        }),
        Column::new(
            "value",
            "that of `unit`",
            "the value; of an estimate its mean. A value that is not known has no row",
            |row| row.value.to_string(),
        ),
        Column::new(
            "low",
            "that of `unit`",
            "lower end of the interval, where there is one; the minimum of trials or runs that are too few for one",
            |row| number(row.low),
        ),
        Column::new(
            "high",
            "that of `unit`",
            "upper end of it, or the maximum",
            |row| number(row.high),
        ),
        Column::new("n", "", "the number of values behind the row", |row| {
            optional(row.n)
        }),
        Column::new(
            "trusted",
            "0 or 1",
            "of an interval within a run: 0 where it rests on too few values, and text says that it is unreliable",
            |row| optional(row.trusted.map(u8::from)),
        ),
    ];

    /// The same row with an estimate.
    pub(crate) fn with_estimate(self, estimate: &Estimate) -> Self {
        let is_range = estimate.method == IntervalMethod::Range;
        let has_interval = estimate.confidence > 0.0 || is_range;
        Self {
            value: estimate.mean,
            low: has_interval.then_some(estimate.low),
            high: has_interval.then_some(estimate.high),
            n: Some(estimate.n),
            ..self
        }
    }
}

/// The cell of a number, empty where it is not finite.
fn number(value: Option<f64>) -> String {
    optional(value.filter(|value| value.is_finite()))
}

/// The table as it grows.
pub(crate) struct ValueTable(csv::Writer<Vec<u8>>);

impl ValueTable {
    /// A table with a column for each of these parameters.
    pub(crate) fn new(parameters: &[String]) -> Self {
        let mut table = Self(csv::Writer::from_writer(Vec::new()));
        let fixed = ValueRow::COLUMNS
            .iter()
            .map(|column| column.name.to_owned());
        let names = parameters.iter().map(|name| format!("parameter_{name}"));
        table.write(fixed.chain(names));
        table
    }

    /// Adds a row, unless its value is no number.
    pub(crate) fn push(&mut self, row: &ValueRow<'_>) {
        if row.value.is_finite() {
            let fixed = ValueRow::COLUMNS.iter().map(|column| (column.cell)(row));
            self.write(fixed.chain(row.parameters.iter().cloned()));
        }
    }

    fn write(&mut self, cells: impl Iterator<Item = String>) {
        let printable = cells.map(|cell| cell.replace(char::is_control, " "));
        self.0
            .write_record(printable)
            .expect("all records have a cell for every column, and memory takes them");
    }

    /// The table as text.
    pub(crate) fn into_text(self) -> String {
        let bytes = self
            .0
            .into_inner()
            .expect("memory takes all that is written");
        String::from_utf8(bytes).expect("the cells are text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_hold_commas_or_quotes_are_quoted() {
        for (text, cell) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("a\nb", "a b"),
        ] {
            let mut table = ValueTable::new(&[]);
            table.push(&ValueRow {
                flow: text,
                ..ValueRow::default()
            });
            let expected = format!(",,,,,,,{cell},,,,,0,,,,\n");
            assert!(table.into_text().ends_with(&expected), "{text:?}");
        }
    }
}
