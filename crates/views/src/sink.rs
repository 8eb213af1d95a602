//! Where text goes.

use super::width::LineWidth;
use caudal_core::text::printable;
use std::fmt::Debug;

/// Where text goes. Writing never fails here: whoever owns the sink learns of a failed write when it is finished.
pub trait TextSink: Debug {
    /// `true` when it is a terminal whose lines can be rewritten.
    fn is_terminal(&self) -> bool;

    /// The width that lines are folded to.
    fn line_width(&self) -> LineWidth;

    /// The lines of the terminal.
    fn terminal_lines(&self) -> usize;

    /// Writes text that steers a terminal, which nothing from outside may be part of.
    fn write_with_controls(&mut self, text: &str);

    /// Writes a line; what is not printable is escaped, as JSON escapes it.
    fn line(&mut self, text: &str) {
        self.write_with_controls(&printable(&format!("{text}\n")));
    }
}
