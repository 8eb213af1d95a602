//! A path in a terminal while it is probed.

use super::live_rows;
use crate::sink::{TextSink, erase};
use crate::text::truncated;
use crate::width::USUAL_WIDTH;
use caudal_core::path::PathRound;
use caudal_core::text::printable;

/// A path while it is probed: a table that is rewritten in a terminal, and nothing elsewhere.
#[derive(Debug, Default)]
pub struct PathProgress {
    /// Lines that are rewritten.
    region: usize,
}

impl PathProgress {
    /// Shows the next round.
    pub fn round(&mut self, sink: &mut dyn TextSink, round: &PathRound) {
        if !sink.is_terminal() {
            return;
        }
        let mut text = erase(self.region);
        // A line that the terminal breaks in two could not be rewritten.
        let width = sink.line_width().columns().unwrap_or(USUAL_WIDTH);
        let lines = live_rows::lines(round, sink.terminal_lines());
        self.region = lines.len();
        for line in lines {
            text += truncated(&printable(&line), width).as_ref();
            text.push('\n');
        }
        sink.write_with_controls(&text);
    }

    /// Removes the table.
    pub fn end(&mut self, sink: &mut dyn TextSink) {
        if self.region > 0 {
            sink.write_with_controls(&erase(self.region));
            self.region = 0;
        }
    }
}
