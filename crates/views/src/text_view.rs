//! Text for people as a view of events.

use super::capture::{capture_lines, incomplete_capture_lines};
use super::closing::ClosingLine;
use super::interval_table::Detail;
use super::kind_view::LiveView;
use super::list::kind_view;
use super::run_table::RunTable;
use super::search_table;
use super::sink::TextSink;
use super::text_form::TextForm;
use caudal_core::event::{Event, View};
use caudal_core::interval::IntervalRow;
use caudal_core::run::Run;

/// Text for people: a headline, the table as it grows, and the closing block.
#[derive(Debug)]
pub struct TextView<S> {
    /// Where the text goes.
    pub sink: S,
    /// The form of the text; lines are folded to the width of the sink.
    pub form: TextForm,
    /// The test that is going on.
    live: Option<Box<dyn LiveView>>,
    /// The table of several runs, where there are several.
    pub runs: Option<RunTable>,
    has_search_header: bool,
    /// The closing block, once it was shown.
    pub result: String,
}

impl<S: TextSink> TextView<S> {
    /// A view on this sink.
    #[must_use]
    pub const fn new(sink: S, form: TextForm) -> Self {
        Self {
            sink,
            form,
            live: None,
            runs: None,
            has_search_header: false,
            result: String::new(),
        }
    }

    /// `true` when each of several runs is one row.
    fn shows_runs_only(&self) -> bool {
        self.runs.is_some() && self.form.detail == Detail::Usual
    }

    /// The form, for the width that the sink has now.
    fn fitted_form(&self) -> TextForm {
        TextForm {
            width: self.sink.line_width(),
            ..self.form
        }
    }

    /// Removes what a terminal shows of a test that is going on.
    pub fn end_rewriting(&mut self) {
        if let Some(live) = &mut self.live {
            live.end(&mut self.sink);
        }
        if let Some(runs) = &mut self.runs {
            runs.end(&mut self.sink);
        }
    }

    /// Shows an event of the test that is going on; of several runs that have a row each, the latest interval.
    fn live(&mut self, event: &Event) {
        if self.live.is_none() && !self.shows_runs_only() && event.kind().is_some() {
            let form = self.fitted_form();
            self.live = kind_view(event.kind()).live(event, &self.sink, form);
        }
        match (&mut self.live, &mut self.runs, event) {
            (Some(live), _, event) => live.event(&mut self.sink, event),
            (None, Some(runs), Event::Interval { flows, .. }) => {
                let flows = flows.clone();
                runs.live(&mut self.sink, &IntervalRow { flows });
            }
            _ => {}
        }
    }

    fn finished(&mut self, run: &Run) {
        self.end_rewriting();
        self.sink.start_line();
        let form = self.fitted_form();
        let width = form.width;
        let text =
            |lines: Vec<String>| -> Vec<_> { lines.into_iter().map(ClosingLine::Text).collect() };
        let mut lines = if run.search().is_some() {
            text(search_table::closing_lines(run, width))
        } else {
            kind_view(run.kind()).closing(run, form)
        };
        lines.extend(text(if form.quiet {
            incomplete_capture_lines(run, width)
        } else {
            capture_lines(run, form)
        }));
        for line in &lines {
            match line {
                ClosingLine::Headline(headline) if self.sink.is_terminal() => {
                    self.sink
                        .write_with_controls(&format!("{}\n", headline.with_emphasis(width)));
                }
                ClosingLine::Emphasized(line) if self.sink.is_terminal() => {
                    self.sink
                        .write_with_controls(&format!("{}\n", line.with_emphasis(width)));
                }
                line => self.sink.line(&line.text(width)),
            }
        }
        let texts: Vec<String> = lines.iter().map(|line| line.text(width)).collect();
        self.result = texts.join("\n");
    }
}

impl<S: TextSink> View for TextView<S> {
    fn event(&mut self, event: &Event) {
        if let Event::Finished { run } = event {
            self.finished(run);
            return;
        }
        if self.form.quiet {
            return;
        }
        match event {
            Event::Agreed(_) => {
                self.end_rewriting();
                self.live = None;
                self.live(event);
            }
            Event::Trial { trial } => {
                let width = self.sink.line_width();
                if !std::mem::replace(&mut self.has_search_header, true) {
                    self.sink.line(&search_table::header(width));
                }
                self.sink.line(&search_table::row(trial, width));
            }
            event => self.live(event),
        }
    }
}
