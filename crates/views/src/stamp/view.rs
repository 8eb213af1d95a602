//! How tests with STAMP are shown.

use super::closing::result_lines;
use super::csv::CSV_COLUMNS;
use crate::closing::ClosingLine;
use crate::column;
use crate::kind_view::{KindView, LiveView};
use crate::round_trips::LiveRoundTrips;
use crate::sink::TextSink;
use crate::text_form::TextForm;
use caudal_core::event::Event;
use caudal_core::run::Run;

/// How tests with STAMP are shown.
#[derive(Debug)]
pub struct StampView;

impl KindView for StampView {
    fn closing(&self, run: &Run, form: TextForm) -> Vec<ClosingLine> {
        let lines = result_lines(run, form).into_iter();
        lines.map(ClosingLine::Text).collect()
    }

    fn live(&self, _: &Event, _: &dyn TextSink, form: TextForm) -> Option<Box<dyn LiveView>> {
        Some(Box::new(LiveRoundTrips::rows(form.width)))
    }

    fn csv_header(&self) -> Option<String> {
        Some(column::header(&CSV_COLUMNS))
    }

    fn csv_rows(&self, event: &Event) -> Vec<String> {
        match event {
            Event::RoundTrips(interval) => vec![column::row(&CSV_COLUMNS, interval)],
            _ => Vec::new(),
        }
    }
}
