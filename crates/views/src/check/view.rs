//! How several tests of one host are shown.

use super::closing::result_lines;
use super::csv;
use super::lines::{fold_line, lines};
use crate::closing::ClosingLine;
use crate::interval_table::Detail;
use crate::kind_view::{KindView, LiveView};
use crate::sink::TextSink;
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::event::Event;
use caudal_core::run::Run;

/// How several tests of one host are shown. Their lines come while they run, the closing block at the end.
#[derive(Debug)]
pub struct CheckView;

impl KindView for CheckView {
    fn closing(&self, run: &Run, form: TextForm) -> Vec<ClosingLine> {
        run.check()
            .map_or_else(Vec::new, |report| result_lines(report, form))
    }

    fn recorded(&self, run: &Run, width: LineWidth) -> Vec<ClosingLine> {
        let Some(report) = run.check() else {
            return Vec::new();
        };
        let form = TextForm {
            quiet: false,
            detail: Detail::Every,
            size_columns: false,
            width,
        };
        let figures = lines(report);
        let figures = figures
            .iter()
            .map(|line| ClosingLine::Text(fold_line(line, width)));
        figures.chain(result_lines(report, form)).collect()
    }

    fn live(&self, _: &Event, _: &dyn TextSink, _: TextForm) -> Option<Box<dyn LiveView>> {
        // Its tests have views of their own, which nobody is shown.
        None
    }

    fn csv_lines(&self, run: &Run) -> Vec<String> {
        run.check().map_or_else(Vec::new, csv::lines)
    }
}
