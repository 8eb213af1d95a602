//! A run as comma-separated values: rows while it runs, or lines when it has ended, as its workload has them.

use super::column;
use super::kind_view::KindView;
use super::list::kind_view;
use super::search_table;
use super::sink::TextSink;
use caudal_core::event::{Event, View};

/// A view that prints comma-separated values.
#[derive(Debug)]
pub struct CsvRows<S> {
    /// Where the rows go.
    pub sink: S,
    kind: &'static dyn KindView,
    has_header: bool,
}

impl<S: TextSink> CsvRows<S> {
    /// A view on this sink.
    #[must_use]
    pub fn new(sink: S) -> Self {
        Self {
            sink,
            kind: kind_view(None),
            has_header: false,
        }
    }

    fn header(&mut self, columns: &str) {
        if !std::mem::replace(&mut self.has_header, true) {
            self.sink.line(columns);
        }
    }
}

impl<S: TextSink> View for CsvRows<S> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Agreed(agreement) => {
                self.kind = kind_view(agreement.plan.kind());
                if let Some(columns) = self.kind.csv_header() {
                    self.header(&columns);
                }
            }
            Event::Trial { trial } => {
                self.header(&column::header(&search_table::CSV_COLUMNS));
                self.sink
                    .line(&column::row(&search_table::CSV_COLUMNS, trial));
            }
            Event::Finished { run } if run.search().is_some() => {
                self.header(&column::header(&search_table::CSV_COLUMNS));
            }
            Event::Finished { run } => {
                for line in kind_view(run.kind()).csv_lines(run) {
                    self.sink.line(&line);
                }
            }
            event => {
                for line in self.kind.csv_rows(event) {
                    self.sink.line(&line);
                }
            }
        }
    }
}
