//! The width of the text that a command prints, and the height of what it rewrites.

use caudal_views::text;
use caudal_views::width::LineWidth;
use std::io;

/// The lines of a terminal that does not tell how many it has.
const USUAL_LINES: usize = 24;

/// The width to which lines are folded: that of the terminal that standard output is; otherwise the one that the environment
/// variable `COLUMNS` gives. Lines are not folded in a pipe or a file.
#[must_use]
pub fn line_width() -> LineWidth {
    let of_terminal = caudal_sys::terminal::columns(io::stdout()).map(usize::from);
    of_terminal
        .or_else(|| of_variable(&std::env::var("COLUMNS").ok()?))
        .map_or(LineWidth::UNLIMITED, LineWidth::of_columns)
}

/// Folds a line to that width, later lines indented by `indent`.
#[must_use]
pub fn fold(line: &str, indent: usize) -> String {
    text::fold(line, indent, line_width())
}

/// The columns that the text of the variable gives; 0 is that of a terminal which does not know, as no text is.
fn of_variable(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|columns| *columns > 0)
}

/// The lines of the terminal that standard output is.
#[must_use]
pub(super) fn terminal_lines() -> usize {
    caudal_sys::terminal::lines(io::stdout()).map_or(USUAL_LINES, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_zero_or_no_number_are_none_at_all() {
        let cases = [
            ("80", Some(80)),
            (" 100 ", Some(100)),
            ("0", None),
            ("", None),
            ("-1", None),
            ("wide", None),
            ("99999999999999999999999", None),
        ];
        for (text, columns) in cases {
            assert_eq!(of_variable(text), columns, "{text:?}");
        }
    }
}
