//! A table of two directions: to the server, and to the client.

use crate::aligned::Alignment::{Left, Right};
use crate::aligned::aligned;
use caudal_core::quantity::short;

/// The two directions of a flow side by side, a row for each quantity.
#[derive(Debug, Clone, Default)]
pub(super) struct DirectionTable {
    rows: Vec<[String; 3]>,
}

impl DirectionTable {
    /// Adds a row, unless neither direction has the value.
    pub(super) fn row(&mut self, name: &str, values: [Option<String>; 2]) {
        if values.iter().all(Option::is_none) {
            return;
        }
        let [up, down] = values.map(|value| value.unwrap_or_else(|| "–".to_owned()));
        self.rows.push([name.to_owned(), up, down]);
    }

    /// Adds a row of counts, unless both are zero.
    pub(super) fn counts(&mut self, name: &str, counts: [u64; 2]) {
        if counts != [0, 0] {
            let shown = counts.map(|count| Some(short(count as f64)));
            self.row(name, shown);
        }
    }

    /// The lines of the table.
    pub(super) fn lines(&self) -> Vec<String> {
        let header = ["", "to server", "to client"].map(str::to_owned);
        let rows: Vec<_> = std::iter::once(&header).chain(&self.rows).collect();
        aligned(&rows, &[Left, Right])
    }
}
