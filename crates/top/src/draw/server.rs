//! A running server, and what is told in lines, on the screen.

use super::area::{write, write_right};
use super::summary::rate;
use super::theme::Theme;
use crate::model::{ServerModel, ShownSession};
use crate::state::ViewState;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Draws the sessions of a server.
pub(crate) fn draw_server(
    buffer: &mut Buffer,
    screen: Rect,
    server: &ServerModel,
    state: &ViewState,
) {
    let running = server.sessions.iter().filter(|one| !one.is_over).count();
    let (received, sent) = server.total_bps();
    let numbers = format!(
        "{running} running   {} completed   {} refused   received {}   sent {}",
        server.completed,
        server.refused,
        rate(received, state.unit),
        rate(sent, state.unit)
    );
    let headline = server.failure.as_deref().unwrap_or(&server.headline);
    write(buffer, screen, (0, 0), headline, Theme::title());
    write(buffer, screen, (0, 1), &numbers, Style::new());
    let header = format!(
        "{:<14} {:<30} {:<20} {:>14} {:>14} {:>8}",
        "session", "client", "test", "received", "sent", "time"
    );
    write(buffer, screen, (0, 3), &header, Theme::title());
    let room = usize::from(screen.height.saturating_sub(5));
    let first = state.first_row.min(server.sessions.len().saturating_sub(1));
    let shown = server.sessions.iter().skip(first).take(room);
    for (place, session) in shown.enumerate() {
        let style = match session.is_over {
            true => Theme::dim(),
            false => Style::new(),
        };
        let row = session_row(session, state);
        write(buffer, screen, (0, place as u16 + 4), &row, style);
    }
    let foot = screen.height.saturating_sub(1);
    let keys = " q  quit   ↑ ↓  scroll   u  units   space  pause view ";
    write(buffer, screen, (0, foot), keys, Theme::dim());
}

fn session_row(session: &ShownSession, state: &ViewState) -> String {
    let last = |values: &std::collections::VecDeque<f64>| match session.is_over {
        true => "–".to_owned(),
        false => rate(values.back().copied().unwrap_or(0.0), state.unit),
    };
    let test = match (session.is_over, session.test.as_str()) {
        (true, test) => format!("{test} (over)"),
        (false, test) => test.to_owned(),
    };
    format!(
        "{:<14} {:<30} {:<20} {:>14} {:>14} {:>6.1} s",
        session.name,
        session.peer,
        test,
        last(&session.received_bps),
        last(&session.sent_bps),
        session.elapsed_s
    )
}

/// Draws what is told in a title and lines, such as a lab or a study.
pub(crate) fn draw_text(
    buffer: &mut Buffer,
    screen: Rect,
    (title, lines): (&str, &[String]),
    state: &ViewState,
) {
    write(buffer, screen, (0, 0), title, Theme::title());
    let room = usize::from(screen.height.saturating_sub(3));
    let first = state.first_row.min(lines.len().saturating_sub(room.max(1)));
    for (place, line) in lines.iter().skip(first).take(room).enumerate() {
        write(buffer, screen, (0, place as u16 + 1), line, Style::new());
    }
    let foot = screen.height.saturating_sub(1);
    let keys = " q  quit   ↑ ↓  scroll   space  pause view ";
    write(buffer, screen, (0, foot), keys, Theme::dim());
    let below = lines.len().saturating_sub(first + room);
    if below > 0 {
        let text = format!("{below} more lines below");
        write_right(buffer, screen, foot, &text, Theme::dim());
    }
}
