//! Text within an area of the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// Writes a text at a column and a row of an area, as far as it fits; what is not printable is escaped. The columns it took.
pub(super) fn write(
    buffer: &mut Buffer,
    area: Rect,
    (column, row): (u16, u16),
    text: &str,
    style: Style,
) -> u16 {
    if row >= area.height || column >= area.width {
        return 0;
    }
    let text = caudal_core::text::on_one_line(text);
    let room = usize::from(area.width - column);
    let (x, y) = (area.x + column, area.y + row);
    let (end, _) = buffer.set_stringn(x, y, text, room, style);
    end - x
}

/// Writes a text that ends at the right edge of an area.
pub(super) fn write_right(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) {
    let width = u16::try_from(text.width()).unwrap_or(u16::MAX);
    write(
        buffer,
        area,
        (area.width.saturating_sub(width), row),
        text,
        style,
    );
}
