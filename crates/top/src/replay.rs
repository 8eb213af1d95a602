//! Recorded runs on the screen.

use crate::draw::draw_test;
use crate::model::Model;
use crate::screen::{ScreenSource, SourceUpdate};
use crate::state::ViewState;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::time::Duration;

/// Recorded runs, of which one is shown.
#[derive(Debug)]
pub struct Replay {
    models: Vec<Model>,
    shown: usize,
    has_changed: bool,
    speed: f64,
}

impl Replay {
    /// These runs, the first to be shown first, played at a multiple of their original speed; `None` without any.
    #[must_use]
    pub fn new(models: Vec<Model>, speed: f64) -> Option<Self> {
        (!models.is_empty()).then_some(Self {
            models,
            shown: 0,
            has_changed: false,
            speed,
        })
    }
}

impl ScreenSource for Replay {
    fn update(&mut self, view: &mut ViewState, elapsed: Duration) -> SourceUpdate {
        if std::mem::take(&mut self.has_changed) {
            let kept = view.clone();
            *view = ViewState {
                unit: kept.unit,
                expanded: kept.expanded,
                ..ViewState::replay()
            };
        }
        if !view.is_playing {
            return SourceUpdate::Same;
        }
        view.play(&self.models[self.shown], elapsed.as_secs_f64() * self.speed);
        SourceUpdate::Changed
    }

    fn model(&self) -> &Model {
        &self.models[self.shown]
    }

    fn draw(&self, buffer: &mut Buffer, screen: Rect, view: &ViewState) {
        draw_test(buffer, screen, self.model(), view);
    }

    fn next_run(&mut self) {
        self.shown = (self.shown + 1) % self.models.len();
        self.has_changed = true;
    }
}
