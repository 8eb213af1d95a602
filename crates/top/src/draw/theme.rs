//! The colours and characters that a terminal can show.

use ratatui::style::{Color, Modifier, Style};

/// The colours and characters that a terminal can show. Nothing is told by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// `true` where colours are shown: the terminal's own sixteen.
    pub has_color: bool,
    /// `true` where the terminal shows more than ASCII.
    pub is_unicode: bool,
}

impl Theme {
    pub(super) const fn title() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) const fn dim() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) const fn key() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) const fn upload() -> Style {
        Style::new().fg(Color::Blue)
    }

    pub(super) const fn download() -> Style {
        Style::new().fg(Color::Green)
    }

    pub(super) const fn latency() -> Style {
        Style::new().fg(Color::Cyan)
    }

    pub(super) const fn loss() -> Style {
        Style::new().fg(Color::Red)
    }

    pub(super) const fn warning() -> Style {
        Style::new().fg(Color::Yellow)
    }
}
