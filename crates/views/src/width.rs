//! The width that text is folded to.

/// The width where a table has to be fitted and nothing limits it.
pub const USUAL_WIDTH: usize = 80;
/// The minimum width that text is folded to: below it a value and its unit no longer fit a line.
const MIN_WIDTH: usize = 40;

/// The maximum: no terminal is wider, and nobody reads such a line.
const MAX_WIDTH: usize = 1000;

/// The width that lines are folded to, in columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineWidth(Option<usize>);

impl LineWidth {
    /// No line is folded, as in a pipe or a file.
    pub const UNLIMITED: Self = Self(None);

    /// The width of a terminal of so many columns, within what can be read.
    #[must_use]
    pub fn of_columns(columns: usize) -> Self {
        Self(Some(columns.clamp(MIN_WIDTH, MAX_WIDTH)))
    }

    /// The columns; `None` where lines are not folded.
    #[must_use]
    pub const fn columns(self) -> Option<usize> {
        self.0
    }
}
