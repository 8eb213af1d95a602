//! The width of the text that a command prints.

use std::io;

/// The width where a table has to be fitted and nothing limits it.
pub const USUAL_WIDTH: usize = 80;
/// The minimum width that text is folded to: below it a value and its unit no longer fit a line.
const MIN_WIDTH: usize = 40;

/// The columns to which lines are folded: those of the terminal that standard output is; otherwise those that the environment
/// variable `COLUMNS` gives. `None` when lines are not folded, as in a pipe or a file.
#[must_use]
pub fn columns() -> Option<usize> {
    let of_terminal = caudal_sys::terminal::columns(io::stdout()).map(usize::from);
    of_terminal
        .or_else(|| std::env::var("COLUMNS").ok()?.trim().parse().ok())
        .map(|columns| columns.max(MIN_WIDTH))
}
