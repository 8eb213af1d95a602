//! A screen without colours, or in ASCII.

use super::theme::Theme;
use ratatui::buffer::Buffer;
use ratatui::style::Color;

/// Takes out of a screen what the terminal cannot or must not show.
pub(crate) fn make_plain(buffer: &mut Buffer, theme: Theme) {
    for cell in &mut buffer.content {
        if !theme.has_color {
            cell.fg = Color::Reset;
            cell.bg = Color::Reset;
        }
        if !theme.is_unicode && !cell.symbol().is_ascii() {
            let plain = ascii(cell.symbol());
            cell.set_char(plain);
        }
    }
}

/// The character of ASCII that stands for a symbol.
fn ascii(symbol: &str) -> char {
    match symbol.chars().next().unwrap_or(' ') {
        '─' | '━' | '–' | '—' | '╌' => '-',
        '│' | '┃' | '▏' => '|',
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => '+',
        '▁' | '▂' => '.',
        '▃' | '▄' => ':',
        '▅' | '▆' => '+',
        '▇' | '█' => '#',
        '•' | '●' | '·' => '*',
        '→' => '>',
        '←' => '<',
        '↑' => '^',
        '↓' => 'v',
        '▶' => '>',
        'µ' => 'u',
        '±' => '~',
        '…' => '~',
        _ => '?',
    }
}
