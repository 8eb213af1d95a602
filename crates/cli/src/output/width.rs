//! The width of the text that a command prints, and the height of what it rewrites.

use std::io;

/// The width where a table has to be fitted and nothing limits it.
pub const USUAL_WIDTH: usize = 80;
/// The minimum width that text is folded to: below it a value and its unit no longer fit a line.
const MIN_WIDTH: usize = 40;

/// The lines of a terminal that does not tell how many it has.
const USUAL_LINES: usize = 24;

/// The columns to which lines are folded: those of the terminal that standard output is; otherwise those that the environment
/// variable `COLUMNS` gives. `None` when lines are not folded, as in a pipe or a file.
#[must_use]
pub fn columns() -> Option<usize> {
    let of_terminal = caudal_sys::terminal::columns(io::stdout()).map(usize::from);
    of_terminal
        .or_else(|| std::env::var("COLUMNS").ok()?.trim().parse().ok())
        .map(|columns| columns.max(MIN_WIDTH))
}

/// The lines of the terminal that standard output is.
#[must_use]
pub fn lines() -> usize {
    caudal_sys::terminal::lines(io::stdout()).map_or(USUAL_LINES, usize::from)
}
