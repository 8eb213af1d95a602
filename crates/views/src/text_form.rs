//! The form of a command's text.

use super::interval_table::Detail;
use super::width::LineWidth;

/// The form of the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextForm {
    /// `true` when only the closing block is shown.
    pub quiet: bool,
    /// The columns of the interval table.
    pub detail: Detail,
    /// `true` for the table with a column per size (round trips).
    pub size_columns: bool,
    /// The width that lines are folded to.
    pub width: LineWidth,
}
