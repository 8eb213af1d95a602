//! How tests of the connection rate are shown.

use super::closing::result_lines;
use super::csv::CSV_COLUMNS;
use super::rows;
use crate::closing::ClosingLine;
use crate::column;
use crate::kind_view::{KindView, LiveView};
use crate::sink::TextSink;
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::event::Event;
use caudal_core::run::Run;

/// How tests of the connection rate are shown.
#[derive(Debug)]
pub struct ConnectView;

impl KindView for ConnectView {
    fn closing(&self, run: &Run, form: TextForm) -> Vec<ClosingLine> {
        result_lines(run, form)
    }

    fn live(&self, first: &Event, _: &dyn TextSink, form: TextForm) -> Option<Box<dyn LiveView>> {
        let Event::Agreed(agreement) = first else {
            return None;
        };
        let plan = agreement.plan.connect()?;
        Some(Box::new(ConnectRows {
            tls: plan.tls == Some(true),
            has_header: false,
            width: form.width,
        }))
    }

    fn csv_header(&self) -> Option<String> {
        Some(column::header(&CSV_COLUMNS))
    }

    fn csv_rows(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Connections { interval } => vec![column::row(&CSV_COLUMNS, interval)],
            _ => Vec::new(),
        }
    }
}

/// A test of the connection rate while it runs: a row an interval.
#[derive(Debug)]
struct ConnectRows {
    tls: bool,
    has_header: bool,
    width: LineWidth,
}

impl LiveView for ConnectRows {
    fn event(&mut self, sink: &mut dyn TextSink, event: &Event) {
        if let Event::Connections { interval } = event {
            if !std::mem::replace(&mut self.has_header, true) {
                sink.line(&rows::header(self.tls, self.width));
            }
            sink.start_line();
            sink.line(&rows::row(interval, self.tls, self.width));
        }
    }

    fn end(&mut self, _: &mut dyn TextSink) {}
}
