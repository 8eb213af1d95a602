//! A test of latency under load as it happens.

use super::panels::panel_lines;
use super::rows;
use crate::sink::{TextSink, erase};
use caudal_core::plan::QualityPlanRecord;
use caudal_core::quality::QualityInterval;

/// The time a line covers in a pipe, s.
const ROW_S: f64 = 1.0;

/// A test of latency under load as it happens: three panels that are rewritten in a terminal, a line a second in a pipe.
#[derive(Debug)]
pub struct QualityProgress {
    rewrites: bool,
    /// The planned duration of all phases, s.
    total_s: f64,
    /// Lines that are rewritten.
    region: usize,
    intervals: Vec<QualityInterval>,
    /// Intervals of which there is a line.
    shown: usize,
    has_header: bool,
}

impl QualityProgress {
    /// A test with this plan, on this sink.
    #[must_use]
    pub fn new(sink: &dyn TextSink, plan: &QualityPlanRecord) -> Self {
        let phases = plan.phases.iter().flatten();
        Self {
            rewrites: sink.is_terminal(),
            total_s: phases.map(|phase| phase.time_ns as f64 / 1e9).sum(),
            region: 0,
            intervals: Vec::new(),
            shown: 0,
            has_header: false,
        }
    }

    /// Shows the next interval.
    pub fn interval(&mut self, sink: &mut dyn TextSink, interval: &QualityInterval) {
        if !self.rewrites {
            let is_new_phase = self.intervals[self.shown..]
                .first()
                .is_some_and(|first| first.load != interval.load);
            if is_new_phase {
                self.line(sink);
            }
            self.intervals.push(*interval);
            let first = self.intervals.get(self.shown);
            if first.is_some_and(|first| interval.end_s - first.start_s >= ROW_S - 1e-3) {
                self.line(sink);
            }
            return;
        }
        self.intervals.push(*interval);
        let mut text = erase(self.region);
        let lines = panel_lines(&self.intervals, self.total_s, sink.line_width());
        self.region = lines.len();
        for line in lines {
            text += &line;
            text.push('\n');
        }
        sink.write_with_controls(&text);
    }

    /// Shows the intervals of which there is no line yet.
    fn line(&mut self, sink: &mut dyn TextSink) {
        if !std::mem::replace(&mut self.has_header, true) {
            sink.line(&rows::header(sink.line_width()));
        }
        if let Some(row) = rows::row(&self.intervals[self.shown..], sink.line_width()) {
            sink.line(&row);
        }
        self.shown = self.intervals.len();
    }

    /// Ends the display: the panels stay as they are.
    pub fn end(&mut self, sink: &mut dyn TextSink) {
        if !self.rewrites && self.shown < self.intervals.len() {
            self.line(sink);
        }
        self.region = 0;
    }
}
