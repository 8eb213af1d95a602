//! A line with its most important part in bold.

use super::text::fold;
use super::width::LineWidth;
use caudal_core::text::printable;
use std::fmt;

/// A line with its most important part in bold where it is shown on a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmphasizedLine {
    /// The part before.
    pub before: String,
    /// The part in bold.
    pub bold: String,
    /// The part after it.
    pub after: String,
}

impl EmphasizedLine {
    /// The line for a terminal, folded.
    #[must_use]
    pub fn with_emphasis(&self, width: LineWidth) -> String {
        let line = printable(&fold(&self.to_string(), 4, width)).into_owned();
        line.replacen(&self.bold, &format!("\x1b[1m{}\x1b[0m", self.bold), 1)
    }
}

impl fmt::Display for EmphasizedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.before, self.bold, self.after)
    }
}
