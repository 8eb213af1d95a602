//! A running server, or what is told in lines such as a lab or a study, on the screen: asked once a second.

use crate::draw::{draw_server, draw_text};
use crate::model::{Model, ServerModel};
use crate::screen::{ScreenSource, SourceUpdate};
use crate::state::ViewState;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fmt;
use std::time::Duration;

/// The time between two readings.
const READING_INTERVAL: Duration = Duration::from_secs(1);

/// The time until the next reading.
#[derive(Debug, Default)]
struct ReadingClock(Duration);

impl ReadingClock {
    /// `true` where a reading is due after this much more time.
    fn is_due(&mut self, elapsed: Duration, is_paused: bool) -> bool {
        self.0 = self.0.saturating_sub(elapsed);
        let is_due = self.0.is_zero() && !is_paused;
        if is_due {
            self.0 = READING_INTERVAL;
        }
        is_due
    }
}

/// A running server; `F` reads its state into the model.
pub struct PolledServer<F> {
    server: ServerModel,
    read: F,
    clock: ReadingClock,
    model: Model,
}

impl<F: FnMut(&mut ServerModel)> PolledServer<F> {
    /// A server that `read` asks.
    pub fn new(read: F) -> Self {
        Self {
            server: ServerModel::default(),
            read,
            clock: ReadingClock::default(),
            model: Model::default(),
        }
    }
}

impl<F> fmt::Debug for PolledServer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolledServer")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl<F: FnMut(&mut ServerModel)> ScreenSource for PolledServer<F> {
    fn update(&mut self, view: &mut ViewState, elapsed: Duration) -> SourceUpdate {
        if !self.clock.is_due(elapsed, view.until_s.is_some()) {
            return SourceUpdate::Same;
        }
        (self.read)(&mut self.server);
        SourceUpdate::Changed
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn draw(&self, buffer: &mut Buffer, screen: Rect, view: &ViewState) {
        draw_server(buffer, screen, &self.server, view);
    }
}

/// A lab, a study or anything else that is told in lines; `F` reads its title and its lines.
pub struct PolledText<F> {
    title: String,
    lines: Vec<String>,
    read: F,
    clock: ReadingClock,
    model: Model,
}

impl<F: FnMut() -> (String, Vec<String>)> PolledText<F> {
    /// What `read` tells.
    pub fn new(read: F) -> Self {
        Self {
            title: String::new(),
            lines: Vec::new(),
            read,
            clock: ReadingClock::default(),
            model: Model::default(),
        }
    }
}

impl<F> fmt::Debug for PolledText<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolledText")
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}

impl<F: FnMut() -> (String, Vec<String>)> ScreenSource for PolledText<F> {
    fn update(&mut self, view: &mut ViewState, elapsed: Duration) -> SourceUpdate {
        if !self.clock.is_due(elapsed, view.until_s.is_some()) {
            return SourceUpdate::Same;
        }
        (self.title, self.lines) = (self.read)();
        SourceUpdate::Changed
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn draw(&self, buffer: &mut Buffer, screen: Rect, view: &ViewState) {
        draw_text(buffer, screen, (&self.title, &self.lines), view);
    }
}
