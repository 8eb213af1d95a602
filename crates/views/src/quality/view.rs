//! How tests of latency under load are shown.

use super::closing::result_lines;
use super::csv::CSV_COLUMNS;
use super::progress::QualityProgress;
use crate::closing::ClosingLine;
use crate::column;
use crate::kind_view::{KindView, LiveView};
use crate::sink::TextSink;
use crate::text_form::TextForm;
use caudal_core::event::Event;
use caudal_core::run::Run;

/// How tests of latency under load are shown.
#[derive(Debug)]
pub struct QualityView;

impl KindView for QualityView {
    fn closing(&self, run: &Run, form: TextForm) -> Vec<ClosingLine> {
        let lines = result_lines(run, form).into_iter();
        lines.map(ClosingLine::Text).collect()
    }

    fn live(&self, first: &Event, sink: &dyn TextSink, _: TextForm) -> Option<Box<dyn LiveView>> {
        let Event::Agreed(agreement) = first else {
            return None;
        };
        let plan = agreement.plan.quality()?;
        Some(Box::new(QualityProgress::new(sink, plan)))
    }

    fn csv_header(&self) -> Option<String> {
        Some(column::header(&CSV_COLUMNS))
    }

    fn csv_rows(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Quality { interval } => vec![column::row(&CSV_COLUMNS, interval)],
            _ => Vec::new(),
        }
    }
}

impl LiveView for QualityProgress {
    fn event(&mut self, sink: &mut dyn TextSink, event: &Event) {
        if let Event::Quality { interval } = event {
            self.interval(sink, interval);
        }
    }

    fn end(&mut self, sink: &mut dyn TextSink) {
        self.end(sink);
    }
}
