//! How the probing of a path is shown.

use super::closing::result_lines;
use super::csv::csv_lines;
use super::progress::PathProgress;
use crate::closing::ClosingLine;
use crate::kind_view::{KindView, LiveView};
use crate::sink::TextSink;
use crate::text_form::TextForm;
use caudal_core::event::Event;
use caudal_core::run::Run;

/// How the probing of a path is shown.
#[derive(Debug)]
pub struct PathView;

impl KindView for PathView {
    fn closing(&self, run: &Run, form: TextForm) -> Vec<ClosingLine> {
        result_lines(run, form)
    }

    fn live(&self, _: &Event, _: &dyn TextSink, _: TextForm) -> Option<Box<dyn LiveView>> {
        Some(Box::new(PathProgress::default()))
    }

    fn csv_lines(&self, run: &Run) -> Vec<String> {
        run.path().map_or_else(Vec::new, csv_lines)
    }
}

impl LiveView for PathProgress {
    fn event(&mut self, sink: &mut dyn TextSink, event: &Event) {
        if let Event::PathRound { round } = event {
            self.round(sink, round);
        }
    }

    fn end(&mut self, sink: &mut dyn TextSink) {
        self.end(sink);
    }
}
