//! How round-trip tests are shown.

use super::csv::csv_lines;
use super::live_table::{live_header, live_row};
use super::result::result_lines;
use crate::closing::ClosingLine;
use crate::interval_table::Detail;
use crate::kind_view::{KindView, LiveView};
use crate::progress::Progress;
use crate::sink::TextSink;
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::event::Event;
use caudal_core::plan::EchoPlan;
use caudal_core::run::Run;

/// How round-trip tests are shown.
#[derive(Debug)]
pub struct RttView;

impl KindView for RttView {
    fn closing(&self, run: &Run, form: TextForm) -> Vec<ClosingLine> {
        let lines = result_lines(run, form).into_iter();
        lines.map(ClosingLine::Text).collect()
    }

    /// The result without a row for each of several sizes, which JSON has.
    fn recorded(&self, run: &Run, width: LineWidth) -> Vec<ClosingLine> {
        let form = TextForm {
            quiet: false,
            detail: Detail::Every,
            size_columns: false,
            width,
        };
        self.closing(run, form)
    }

    fn live(
        &self,
        first: &Event,
        sink: &dyn TextSink,
        form: TextForm,
    ) -> Option<Box<dyn LiveView>> {
        let plan = match first {
            Event::Agreed(agreement) => agreement.plan.rtt(),
            _ => None,
        };
        let plan = plan.and_then(|plan| EchoPlan::try_from(plan).ok());
        let plan = plan.filter(|plan| plan.sizes.len() > 1 && sink.is_terminal());
        Some(Box::new(LiveRoundTrips {
            progress: plan.as_ref().map(Progress::new),
            has_header: false,
            width: form.width,
        }))
    }

    fn csv_lines(&self, run: &Run) -> Vec<String> {
        let summary = run.round_trips();
        summary.map_or_else(Vec::new, |summary| csv_lines(run, summary))
    }
}

/// A round-trip test while it runs: the progress of several sizes in a terminal, rows of one.
#[derive(Debug)]
pub(crate) struct LiveRoundTrips {
    progress: Option<Progress>,
    has_header: bool,
    width: LineWidth,
}

impl LiveRoundTrips {
    /// The rows of a test of one size.
    pub(crate) const fn rows(width: LineWidth) -> Self {
        Self {
            progress: None,
            has_header: false,
            width,
        }
    }
}

impl LiveView for LiveRoundTrips {
    fn event(&mut self, sink: &mut dyn TextSink, event: &Event) {
        match event {
            Event::RoundTrips(interval) => {
                if !std::mem::replace(&mut self.has_header, true) {
                    sink.line(&live_header(self.width));
                }
                sink.start_line();
                sink.line(&live_row(interval, self.width));
            }
            Event::Size(size) => {
                if let Some(progress) = &mut self.progress {
                    progress.advance(sink, size);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, sink: &mut dyn TextSink) {
        if let Some(progress) = self.progress.take() {
            progress.end(sink);
        }
    }
}
