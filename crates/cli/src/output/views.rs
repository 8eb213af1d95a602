//! The views of a command: text for people, and beside it JSON, JSON lines or CSV where asked for.

use super::capture::{capture_lines, incomplete_capture_lines};
use super::closing::{ClosingLine, closing_lines};
use super::csv::CsvRows;
use super::interval_table::Detail;
use super::json_lines::JsonLines;
use super::path::{self, PathProgress};
use super::progress::Progress;
use super::quality::{self, QualityProgress};
use super::round_trips;
use super::run_table::{RunGoal, RunResults, RunTable};
use super::search_table;
use super::sink::{self, Sink, Sinks};
use super::table::IntervalTable;
use super::text_form::TextForm;
use super::transfers;
use crate::args::OutputArgs;
use crate::exit::Failure;
use caudal_core::event::{Event, View};
use caudal_core::interval::IntervalRow;
use caudal_core::plan::{Plan, PlanKind};
use caudal_core::run::Run;

/// The views of a command.
#[derive(Debug)]
pub struct Views {
    text: TextView,
    data: Option<DataView>,
    /// `true` when the data goes to a file, so that text beside it may go unread.
    data_in_file: bool,
}

impl Views {
    /// The views the flags ask for.
    ///
    /// # Errors
    /// When a file cannot be created.
    pub fn open(output: &OutputArgs, size_columns: bool) -> Result<Self, Failure> {
        let sinks = Sinks::open(output)?;
        let form = TextForm {
            quiet: output.quiet,
            detail: if output.verbose {
                Detail::Every
            } else {
                Detail::Usual
            },
            size_columns,
        };
        let data = if output.json {
            Some(DataView::Json {
                sink: sinks.data,
                result: None,
            })
        } else if output.json_stream {
            Some(DataView::Lines(JsonLines::new(sinks.data)))
        } else if output.csv {
            Some(DataView::Csv(CsvRows::new(sinks.data)))
        } else {
            None
        };
        Ok(Self {
            text: TextView::new(sinks.text, form),
            data,
            data_in_file: sinks.data_in_file,
        })
    }

    /// Views that show nothing.
    #[must_use]
    pub fn silent() -> Self {
        let form = TextForm {
            quiet: true,
            detail: Detail::Usual,
            size_columns: false,
        };
        Self {
            text: TextView::new(Sink::nowhere(), form),
            data: None,
            data_in_file: false,
        }
    }

    /// Shows a line of text that is no event, unless the text is quiet.
    pub fn note(&mut self, line: &str) {
        if !self.text.form.quiet {
            self.text.sink.line(line);
        }
    }

    /// Shows a row for each of several runs from now on, instead of their intervals; beside them where every detail is shown.
    pub fn begin_runs(&mut self, goal: RunGoal, confidence: f64) {
        self.text.runs = Some(RunTable::new(goal, confidence));
    }

    /// Shows the row of a run that has ended.
    pub fn run_ended(&mut self, number: u32, results: &[RunResults]) {
        if let Some(runs) = self.text.runs.as_mut().filter(|_| !self.text.form.quiet) {
            runs.row(&mut self.text.sink, number, results);
        }
    }

    /// `true` when nobody reads the result any more.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.data.as_ref().is_some_and(DataView::is_closed)
            || (self.text.sink.is_closed() && !self.data_in_file)
    }

    /// Removes what a terminal shows of a test that ended without a result.
    pub fn abandon(&mut self) {
        self.text.end_rewriting();
    }

    /// Ends all views; a result that could not be written to its file is put on standard output instead.
    ///
    /// # Errors
    /// The first failure to write, or that nobody reads any more.
    pub fn finish(self) -> Result<(), Failure> {
        let is_unread = self.is_unread();
        let (data, result) = match self.data {
            Some(data) => data.finish(),
            None => (Ok(()), None),
        };
        let mut text = self.text;
        let written = data.and(text.sink.finish());
        sink::finish(written, &result.unwrap_or(text.result), is_unread)
    }
}

impl View for Views {
    fn event(&mut self, event: &Event) {
        self.text.event(event);
        if let Some(data) = &mut self.data {
            data.event(event);
        }
    }
}

/// The data beside the text.
#[derive(Debug)]
enum DataView {
    /// The whole run when it is over.
    Json {
        /// Where it goes.
        sink: Sink,
        /// The run once it was printed.
        result: Option<String>,
    },
    /// Every event.
    Lines(JsonLines),
    /// Comma-separated values.
    Csv(CsvRows),
}

impl DataView {
    const fn sink(&self) -> &Sink {
        match self {
            Self::Json { sink, .. } => sink,
            Self::Lines(lines) => &lines.sink,
            Self::Csv(rows) => &rows.sink,
        }
    }

    const fn is_closed(&self) -> bool {
        self.sink().is_closed()
    }

    /// The outcome of writing, and the result once more for standard output.
    fn finish(self) -> (Result<(), Failure>, Option<String>) {
        match self {
            Self::Json { mut sink, result } => (sink.finish(), result),
            Self::Lines(mut lines) => (lines.sink.finish(), lines.result),
            Self::Csv(mut rows) => (rows.sink.finish(), None),
        }
    }
}

impl View for DataView {
    fn event(&mut self, event: &Event) {
        match (self, event) {
            (Self::Json { sink, result }, Event::Finished { run }) => {
                let text = serde_json::to_string_pretty(run).unwrap_or_default();
                sink.line(&text);
                *result = Some(text);
            }
            (Self::Json { .. }, _) => {}
            (Self::Lines(lines), event) => lines.event(event),
            (Self::Csv(rows), event) => rows.event(event),
        }
    }
}

/// Text for people: a headline, the table as it grows, and the closing block.
#[derive(Debug)]
struct TextView {
    sink: Sink,
    form: TextForm,
    table: Option<IntervalTable>,
    progress: Option<Progress>,
    quality: Option<QualityProgress>,
    path: Option<PathProgress>,
    /// The table of several runs, where there are several.
    runs: Option<RunTable>,
    has_search_header: bool,
    has_live_header: bool,
    /// The closing block, once it was shown.
    result: String,
}

impl TextView {
    const fn new(sink: Sink, form: TextForm) -> Self {
        Self {
            sink,
            form,
            table: None,
            progress: None,
            quality: None,
            path: None,
            runs: None,
            has_search_header: false,
            has_live_header: false,
            result: String::new(),
        }
    }

    /// `true` when each of several runs is one row.
    fn shows_runs_only(&self) -> bool {
        self.runs.is_some() && self.form.detail == Detail::Usual
    }

    fn end_rewriting(&mut self) {
        if let Some(mut table) = self.table.take() {
            table.end(&mut self.sink);
        }
        if let Some(progress) = self.progress.take() {
            progress.end(&mut self.sink);
        }
        if let Some(mut quality) = self.quality.take() {
            quality.end(&mut self.sink);
        }
        if let Some(mut path) = self.path.take() {
            path.end(&mut self.sink);
        }
        if let Some(runs) = &mut self.runs {
            runs.end(&mut self.sink);
        }
    }

    fn interval(&mut self, row: &IntervalRow) {
        if let Some(table) = &mut self.table {
            table.row(&mut self.sink, row);
        } else if let Some(runs) = &mut self.runs {
            runs.live(&mut self.sink, row);
        }
    }

    fn finished(&mut self, run: &Run) {
        self.end_rewriting();
        let text =
            |lines: Vec<String>| -> Vec<_> { lines.into_iter().map(ClosingLine::Text).collect() };
        let mut lines: Vec<ClosingLine> = match run.kind() {
            _ if run.search.is_some() => text(search_table::closing_lines(run)),
            Some(PlanKind::Quality) => text(quality::result_lines(run, self.form)),
            Some(PlanKind::Rtt) => text(round_trips::result_lines(run, self.form)),
            Some(PlanKind::File) => transfers::result_lines(run, self.form),
            Some(PlanKind::Path) => path::result_lines(run, self.form),
            _ => closing_lines(run, self.form),
        };
        lines.extend(text(if self.form.quiet {
            incomplete_capture_lines(run)
        } else {
            capture_lines(run, self.form.detail)
        }));
        for line in &lines {
            match line {
                ClosingLine::Headline(headline) if self.sink.is_terminal() => {
                    self.sink
                        .write_with_controls(&format!("{}\n", headline.with_emphasis()));
                }
                ClosingLine::Emphasized(line) if self.sink.is_terminal() => {
                    self.sink
                        .write_with_controls(&format!("{}\n", line.with_emphasis()));
                }
                line => self.sink.line(&line.text()),
            }
        }
        let texts: Vec<String> = lines.iter().map(ClosingLine::text).collect();
        self.result = texts.join("\n");
    }
}

impl View for TextView {
    fn event(&mut self, event: &Event) {
        if let Event::Finished { run } = event {
            self.finished(run);
            return;
        }
        if self.form.quiet {
            return;
        }
        match event {
            Event::Agreed(agreement) => {
                self.end_rewriting();
                if agreement.plan.kind == Some(PlanKind::Quality) {
                    self.quality = Some(QualityProgress::new(&self.sink, &agreement.plan));
                    return;
                }
                match Plan::try_from(&agreement.plan) {
                    Ok(Plan::Echo(plan)) if plan.sizes.len() > 1 && self.sink.is_terminal() => {
                        self.progress = Some(Progress::new(&plan));
                    }
                    Ok(plan) if plan.bulk().is_some() && !self.shows_runs_only() => {
                        self.table = Some(IntervalTable::new(&self.sink, &plan, self.form.detail));
                    }
                    _ => {}
                }
            }
            Event::Interval { flows, .. } => self.interval(&IntervalRow {
                flows: flows.clone(),
            }),
            Event::Quality { interval } => {
                if let Some(quality) = &mut self.quality {
                    quality.interval(&mut self.sink, interval);
                }
            }
            Event::PathRound { round } => {
                let path = self.path.get_or_insert_default();
                path.round(&mut self.sink, round);
            }
            Event::RoundTrips(interval) => {
                if !std::mem::replace(&mut self.has_live_header, true) {
                    self.sink.line(&round_trips::live_header());
                }
                self.sink.line(&round_trips::live_row(interval));
            }
            Event::Size(progress) => {
                if let Some(bar) = &mut self.progress {
                    bar.advance(&mut self.sink, progress);
                }
            }
            Event::Trial { trial } => {
                if !std::mem::replace(&mut self.has_search_header, true) {
                    self.sink.line(&search_table::header());
                }
                self.sink.line(&search_table::row(trial));
            }
            _ => {}
        }
    }
}
