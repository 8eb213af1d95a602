//! How file transfers are shown.

use super::closing::result_lines;
use super::csv::csv_lines;
use crate::closing::ClosingLine;
use crate::kind_view::{KindView, LiveView};
use crate::sink::TextSink;
use crate::text_form::TextForm;
use caudal_core::event::Event;
use caudal_core::run::Run;

/// How file transfers are shown.
#[derive(Debug)]
pub struct FileView;

impl KindView for FileView {
    fn closing(&self, run: &Run, form: TextForm) -> Vec<ClosingLine> {
        result_lines(run, form)
    }

    /// None: the command of a transfer shows its progress by itself.
    fn live(&self, _: &Event, _: &dyn TextSink, _: TextForm) -> Option<Box<dyn LiveView>> {
        None
    }

    fn csv_lines(&self, run: &Run) -> Vec<String> {
        run.file().map_or_else(Vec::new, csv_lines)
    }
}
