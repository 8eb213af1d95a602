//! The views of a command: text for people, and beside it JSON, JSON lines or CSV where asked for.

use super::sink::{self, Sink, Sinks};
use crate::args::OutputArgs;
use crate::exit::Failure;
use crate::invocation::command_line;
use caudal_core::event::{Event, View};
use caudal_measure::{DirectionGoodputs, Observer};
use caudal_sys::signal::Interrupt;
use caudal_top::{LiveScreen, ScreenError, unusable_terminal};
use caudal_views::csv::CsvRows;
use caudal_views::interval_table::Detail;
use caudal_views::json_lines::JsonLines;
use caudal_views::run_table::{RunGoal, RunResults, RunTable};
use caudal_views::sink::TextSink;
use caudal_views::text::within;
use caudal_views::text_form::TextForm;
use caudal_views::text_view::TextView;
use caudal_views::width::LineWidth;

/// The views of a command.
#[derive(Debug)]
pub struct Views {
    text: TextView<Sink>,
    data: Option<DataView>,
    /// `true` when the data goes to a file, so that text beside it may go unread.
    data_in_file: bool,
    has_transient: bool,
    /// The terminal's whole screen, where the test is shown on it; the text follows when it is given back.
    screen: Option<LiveScreen>,
}

impl Views {
    /// The views the flags ask for.
    ///
    /// # Errors
    /// When a file cannot be created.
    pub fn open(output: &OutputArgs, size_columns: bool) -> Result<Self, Failure> {
        let screen = open_screen(output)?;
        let mut sinks = Sinks::open(output)?;
        if screen.is_some() && output.output.is_none() {
            sinks.text = Sink::held();
        }
        let form = TextForm {
            quiet: output.quiet,
            detail: if output.verbose {
                Detail::Every
            } else {
                Detail::Usual
            },
            size_columns,
            width: LineWidth::UNLIMITED,
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
            has_transient: false,
            screen,
        })
    }

    /// Views that show nothing.
    #[must_use]
    pub fn silent() -> Self {
        let form = TextForm {
            quiet: true,
            detail: Detail::Usual,
            size_columns: false,
            width: LineWidth::UNLIMITED,
        };
        Self {
            text: TextView::new(Sink::nowhere(), form),
            data: None,
            data_in_file: false,
            has_transient: false,
            screen: None,
        }
    }

    /// `true` while the test is shown on the terminal's whole screen.
    #[must_use]
    pub const fn has_screen(&self) -> bool {
        self.screen.is_some()
    }

    /// The moments that the user has marked, s after the start.
    #[must_use]
    pub fn marks_s(&self) -> Vec<f64> {
        self.screen
            .as_ref()
            .map(LiveScreen::marks_s)
            .unwrap_or_default()
    }

    /// Shows a line of text that is no event, unless the text is quiet.
    pub fn note(&mut self, line: &str) {
        if let Some(screen) = &self.screen {
            screen.note(line);
        }
        if !self.text.form.quiet {
            self.text.sink.line(line);
        }
    }

    /// The width that text is folded to.
    #[must_use]
    pub fn line_width(&self) -> LineWidth {
        self.text.sink.line_width()
    }

    /// Shows a line in a terminal until [`Views::end_transient`], unless the text is quiet.
    pub fn transient(&mut self, line: &str) {
        if let Some(screen) = &self.screen {
            screen.status(line);
            return;
        }
        if !self.text.form.quiet && self.text.sink.is_terminal() {
            let width = self.text.sink.line_width();
            let line = within(line, 0, width);
            self.text
                .sink
                .write_with_controls(&format!("\r\x1b[K\x1b[2m{line}\x1b[0m"));
            self.has_transient = true;
        }
    }

    /// Removes the line that [`Views::transient`] shows.
    pub fn end_transient(&mut self) {
        if std::mem::take(&mut self.has_transient) {
            self.text.sink.write_with_controls("\r\x1b[K");
        }
    }

    /// Shows a row for each of several runs from now on, instead of their intervals; beside them where every detail is shown.
    pub fn begin_runs(&mut self, goal: RunGoal, confidence: f64) {
        self.text.runs = Some(RunTable::new(goal, confidence));
    }

    /// `true` when nobody reads the result any more.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.data.as_ref().is_some_and(DataView::is_closed)
            || (self.text.sink.is_closed() && !self.data_in_file)
    }

    /// Removes what a terminal shows of a test that ended without a result.
    pub fn abandon(&mut self) {
        self.end_transient();
        self.screen = None;
        self.text.end_rewriting();
    }

    /// Ends all views; a result that could not be written to its file is put on standard output instead.
    ///
    /// # Errors
    /// The first failure to write, or that nobody reads any more.
    pub fn finish(self) -> Result<(), Failure> {
        let is_unread = self.is_unread();
        if let Some(screen) = self.screen {
            screen.finish();
        }
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
        match &mut self.screen {
            Some(screen) => {
                screen.event(event);
                // Rows that have passed on the screen do not follow as text.
                if matches!(event, Event::Finished { .. }) {
                    self.text.event(event);
                }
            }
            None => self.text.event(event),
        }
        if let Some(data) = &mut self.data {
            data.event(event);
        }
    }
}

impl Observer for Views {
    fn is_unread(&self) -> bool {
        Self::is_unread(self)
    }

    fn run_ended(&mut self, number: u32, goodputs: &[DirectionGoodputs]) {
        let is_quiet = self.text.form.quiet;
        let has_screen = self.screen.is_some();
        let Some(runs) = self.text.runs.as_mut().filter(|_| !is_quiet && !has_screen) else {
            return;
        };
        let results: Vec<RunResults> = goodputs
            .iter()
            .map(|goodputs| RunResults {
                direction: goodputs.direction,
                goodputs_bps: goodputs.goodputs_bps.clone(),
            })
            .collect();
        runs.row(&mut self.text.sink, number, &results);
    }

    fn abandoned(&mut self) {
        self.abandon();
    }
}

/// Takes the terminal's whole screen where that is asked for and possible; says so where it is not.
fn open_screen(output: &OutputArgs) -> Result<Option<LiveScreen>, Failure> {
    if !output.top {
        return Ok(None);
    }
    if let Some(why) = unusable_terminal() {
        sink::diagnostic(&format!("{why}: the test is shown as rows"));
        return Ok(None);
    }
    let failed = |cause: std::io::Error| Failure::from(ScreenError::from(cause));
    let interrupt = Interrupt::install().map_err(failed)?;
    LiveScreen::open(&command_line(), interrupt)
        .map(Some)
        .map_err(failed)
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
    Lines(JsonLines<Sink>),
    /// Comma-separated values.
    Csv(CsvRows<Sink>),
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
