//! Where text goes.

use super::width::LineWidth;
use caudal_core::text::printable;
use std::fmt::Debug;

/// The text that removes the last `lines` lines of a terminal, and what its user has typed on the next.
pub(crate) fn erase(lines: usize) -> String {
    match lines {
        0 => "\r\x1b[K".to_owned(),
        lines => format!("\r\x1b[{lines}A\x1b[J"),
    }
}

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

    /// Goes to the start of a terminal's line and clears it: a terminal shows the `^C` that ends a test there.
    fn start_line(&mut self) {
        if self.is_terminal() {
            self.write_with_controls(&erase(0));
        }
    }

    /// Writes a line; what is not printable is escaped, as JSON escapes it.
    fn line(&mut self, text: &str) {
        self.write_with_controls(&printable(&format!("{text}\n")));
    }
}
