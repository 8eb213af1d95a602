//! The keys, explained.

use super::area::write;
use super::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// The keys at the foot of the screen, most important first.
pub(super) const FOOT: [(&str, &str); 8] = [
    ("q", "quit"),
    ("?", "help"),
    ("space", "pause view"),
    ("e", "enlarge"),
    ("+ -", "time scale"),
    ("← →", "step"),
    ("u", "units"),
    ("m", "mark"),
];

/// Every key.
const KEYS: [(&str, &str); 13] = [
    (
        "q",
        "end the view; a test that is running ends as with ^C, and keeps its result",
    ),
    ("^C", "end the test and keep its result"),
    (
        "space",
        "pause the view, not the measurement; play or pause a recorded run",
    ),
    ("← →", "one interval back or on"),
    ("PgUp PgDn", "ten intervals back or on"),
    ("Home End", "the start; the latest, followed from then on"),
    ("+ -", "show less or more time"),
    ("e Esc", "enlarge one panel after another; show all"),
    ("↑ ↓", "scroll the rows"),
    ("u", "rates in bits or in bytes"),
    ("m", "mark this moment; marks are kept in the run"),
    ("s", "save the panels as an SVG file in this directory"),
    ("Tab", "the next of several runs"),
];

/// Draws the explanations over an area.
pub(super) fn draw_help(buffer: &mut Buffer, area: Rect) {
    for row in 0..area.height {
        let blank = " ".repeat(usize::from(area.width));
        write(buffer, area, (0, row), &blank, Style::reset());
    }
    write(buffer, area, (1, 0), "keys", Theme::title());
    for (place, (key, meaning)) in KEYS.iter().enumerate() {
        let row = place as u16 + 1;
        write(buffer, area, (1, row), key, Theme::title());
        write(buffer, area, (12, row), meaning, Style::new());
    }
    let row = KEYS.len() as u16 + 2;
    write(buffer, area, (1, row), "any key closes this", Theme::dim());
}

/// Draws the keys at the foot, as many as fit.
pub(super) fn draw_keys(buffer: &mut Buffer, area: Rect, note: Option<&str>) {
    if let Some(note) = note {
        write(buffer, area, (0, 0), note, Theme::warning());
        return;
    }
    let mut column = 0;
    for (key, meaning) in FOOT {
        let width = (key.chars().count() + meaning.chars().count() + 4) as u16;
        if column + width > area.width {
            break;
        }
        column += write(buffer, area, (column, 0), &format!(" {key} "), Theme::key());
        column += write(
            buffer,
            area,
            (column, 0),
            &format!(" {meaning} "),
            Style::new(),
        );
    }
}
