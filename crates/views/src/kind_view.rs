//! How the runs of a workload are shown: what each workload implements once, and `list.rs` lists.

use super::closing::ClosingLine;
use super::interval_table::Detail;
use super::sink::TextSink;
use super::text_form::TextForm;
use super::width::LineWidth;
use caudal_core::event::Event;
use caudal_core::run::Run;
use std::fmt::Debug;

/// How the runs of a workload are shown.
pub trait KindView: Debug + Sync {
    /// The closing block of its command.
    fn closing(&self, run: &Run, form: TextForm) -> Vec<ClosingLine>;

    /// The result of a recorded run: as its command closed with it, in every detail.
    fn recorded(&self, run: &Run, width: LineWidth) -> Vec<ClosingLine> {
        let form = TextForm {
            quiet: false,
            detail: Detail::Every,
            size_columns: false,
            width,
        };
        self.closing(run, form)
    }

    /// The view of a test while it runs, from its first event; `None` where the event begins none.
    fn live(&self, first: &Event, sink: &dyn TextSink, form: TextForm)
    -> Option<Box<dyn LiveView>>;

    /// The columns of comma-separated values, where rows are written while the test runs.
    fn csv_header(&self) -> Option<String> {
        None
    }

    /// The rows of an event, where rows are written while the test runs.
    fn csv_rows(&self, event: &Event) -> Vec<String> {
        let _ = event;
        Vec::new()
    }

    /// The lines of a finished run, with a header of their own, where none are written before.
    fn csv_lines(&self, run: &Run) -> Vec<String> {
        let _ = run;
        Vec::new()
    }
}

/// A test while it runs, as text.
pub trait LiveView: Debug + Send {
    /// Shows an event.
    fn event(&mut self, sink: &mut dyn TextSink, event: &Event);

    /// Removes what a terminal shows of a test that is going on.
    fn end(&mut self, sink: &mut dyn TextSink);
}
