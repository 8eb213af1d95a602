//! What the keys change: the part of the test that is shown, and how.

use crate::model::Model;

/// The shortest time that a screen shows, s.
const MIN_WINDOW_S: f64 = 1.0;
/// The factor between two scales of time.
const ZOOM: f64 = 2.0;
/// Maximum number of rows that are scrolled over.
const MAX_FIRST_ROW: usize = 10_000;
/// The number of intervals that a large step goes.
const LARGE_STEP: usize = 10;

/// A key, as far as this view has a use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A character with Control.
    Control(char),
    /// The left arrow.
    Left,
    /// The right arrow.
    Right,
    /// The up arrow.
    Up,
    /// The down arrow.
    Down,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Tab.
    Tab,
    /// Escape.
    Escape,
}

/// What a key asks of whoever shows the view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Action {
    /// Draw anew.
    Draw,
    /// Draw everything anew, as the terminal may show something else.
    Clear,
    /// End the view.
    Quit,
    /// End the test, as `^C` does.
    Interrupt,
    /// Stop this process, as `^Z` does.
    Suspend,
    /// Keep this moment, s after the start, in the run.
    Mark(f64),
    /// Write what is shown as a figure.
    SaveFigure,
    /// Show the next of several runs.
    NextRun,
}

/// A panel that can fill the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    /// Goodput over time.
    Throughput,
    /// Round-trip times over time.
    Latency,
    /// Loss, or what was retransmitted, over time.
    Loss,
    /// The flows, the hops or the sizes.
    Rows,
}

impl Panel {
    /// Every panel, from the top.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::Latency, Self::Loss, Self::Rows];
}

/// The unit of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShownUnit {
    /// Bits per second.
    #[default]
    Bits,
    /// Bytes per second.
    Bytes,
}

/// What the keys have set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ViewState {
    /// The end of what is shown, s after the start; `None` follows the test.
    pub until_s: Option<f64>,
    /// `true` while a recorded run is played.
    pub is_playing: bool,
    /// The time that the panels show, s; `None` for all of it.
    pub window_s: Option<f64>,
    /// The panel that fills the screen.
    pub expanded: Option<Panel>,
    /// The unit of rates.
    pub unit: ShownUnit,
    /// `true` while the keys are explained.
    pub shows_help: bool,
    /// The first row shown of more than fit.
    pub first_row: usize,
    /// A line about the last key.
    pub note: Option<String>,
}

impl ViewState {
    /// The view of a recorded run that is played from its start.
    #[must_use]
    pub fn replay() -> Self {
        Self {
            until_s: Some(0.0),
            is_playing: true,
            ..Self::default()
        }
    }

    /// The time up to which the test is shown, s after its start.
    #[must_use]
    pub fn shown_until_s(&self, model: &Model) -> f64 {
        let end_s = model.end_s();
        self.until_s.map_or(end_s, |until_s| until_s.min(end_s))
    }

    /// Plays a recorded run for so long.
    pub fn play(&mut self, model: &Model, elapsed_s: f64) {
        if !self.is_playing {
            return;
        }
        let until_s = self.until_s.unwrap_or(0.0) + elapsed_s;
        self.until_s = Some(until_s);
        if until_s >= model.end_s() {
            self.until_s = None;
            self.is_playing = false;
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: Key, model: &Model) -> Action {
        self.note = None;
        if self.shows_help && !matches!(key, Key::Control(_)) {
            self.shows_help = false;
            return Action::Draw;
        }
        match key {
            Key::Char('q' | 'Q') => return Action::Quit,
            Key::Control('c') => return Action::Interrupt,
            Key::Control('z') => return Action::Suspend,
            Key::Control('l') => return Action::Clear,
            Key::Char('s') => return Action::SaveFigure,
            Key::Char('m') => return self.mark(model),
            Key::Tab => return Action::NextRun,
            Key::Char('?' | 'h') => self.shows_help = true,
            Key::Char(' ') => self.freeze(model),
            Key::Char('e') => self.expand(),
            Key::Escape => self.expanded = None,
            Key::Char('+' | '=') => self.zoom(model, 1.0 / ZOOM),
            Key::Char('-') => self.zoom(model, ZOOM),
            Key::Char('u') => {
                self.unit = match self.unit {
                    ShownUnit::Bits => ShownUnit::Bytes,
                    ShownUnit::Bytes => ShownUnit::Bits,
                }
            }
            Key::Left => self.step(model, 1, false),
            Key::Right => self.step(model, 1, true),
            Key::PageUp => self.step(model, LARGE_STEP, false),
            Key::PageDown => self.step(model, LARGE_STEP, true),
            Key::Home => self.go_to(model, 0.0),
            Key::End => {
                self.until_s = None;
                self.is_playing = false;
            }
            Key::Up => self.first_row = self.first_row.saturating_sub(1),
            Key::Down => self.first_row = (self.first_row + 1).min(MAX_FIRST_ROW),
            Key::Char(_) | Key::Control(_) => {}
        }
        Action::Draw
    }

    /// Marks the moment that is shown, or says why not.
    fn mark(&mut self, model: &Model) -> Action {
        if model.run.is_some() {
            self.note = Some("only a running test takes marks".to_owned());
            return Action::Draw;
        }
        let at_s = self.shown_until_s(model);
        self.note = Some(format!("marked {at_s:.1} s"));
        Action::Mark(at_s)
    }

    fn freeze(&mut self, model: &Model) {
        if model.run.is_some() && self.until_s.is_some() {
            self.is_playing = !self.is_playing;
        } else if self.until_s.is_some() {
            self.until_s = None;
        } else if model.run.is_some() {
            // From the end a recorded run is played again.
            *self = Self {
                window_s: self.window_s,
                expanded: self.expanded,
                unit: self.unit,
                ..Self::replay()
            };
        } else {
            self.until_s = Some(model.end_s());
        }
    }

    fn expand(&mut self) {
        let place = self
            .expanded
            .and_then(|panel| Panel::ALL.iter().position(|one| *one == panel));
        self.expanded = match place {
            None => Some(Panel::ALL[0]),
            Some(place) => Panel::ALL.get(place + 1).copied(),
        };
    }

    fn zoom(&mut self, model: &Model, factor: f64) {
        let all_s = model.end_s().max(MIN_WINDOW_S);
        let window_s = self.window_s.unwrap_or(all_s) * factor;
        self.window_s = (window_s < all_s).then_some(window_s.max(MIN_WINDOW_S));
    }

    /// Goes so many intervals back or on.
    fn step(&mut self, model: &Model, count: usize, forward: bool) {
        let now_s = self.shown_until_s(model);
        let ends = model.points.iter().map(|point| point.end_s);
        let target = if forward {
            ends.filter(|end_s| *end_s > now_s + 1e-9).nth(count - 1)
        } else {
            let before: Vec<f64> = ends.filter(|end_s| *end_s < now_s - 1e-9).collect();
            let place = before.len().checked_sub(count);
            Some(place.map_or(0.0, |place| before[place]))
        };
        match target {
            Some(target_s) => self.go_to(model, target_s),
            None => {
                self.until_s = None;
                self.is_playing = false;
            }
        }
    }

    fn go_to(&mut self, model: &Model, time_s: f64) {
        self.is_playing = false;
        self.until_s = Some(time_s.clamp(0.0, model.end_s()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TestPoint;

    fn model(seconds: u32) -> Model {
        let points = (0..seconds).map(|second| TestPoint {
            start_s: f64::from(second),
            end_s: f64::from(second + 1),
            up_bps: Some(1e6),
            ..TestPoint::default()
        });
        Model {
            points: points.collect(),
            ..Model::default()
        }
    }

    #[test]
    fn space_stops_the_view_and_not_the_test() {
        let mut state = ViewState::default();
        let mut test = model(3);
        state.key(Key::Char(' '), &test);
        assert_eq!(state.until_s, Some(3.0));
        test.points.extend(model(5).points.into_iter().skip(3));
        assert_eq!(state.shown_until_s(&test), 3.0);
        state.key(Key::Char(' '), &test);
        assert_eq!(state.shown_until_s(&test), 5.0);
    }

    #[test]
    fn arrows_step_from_interval_to_interval() {
        let test = model(20);
        let mut state = ViewState::default();
        let mut after = |key| {
            state.key(key, &test);
            state.until_s
        };
        assert_eq!(after(Key::Left), Some(19.0));
        assert_eq!(after(Key::PageUp), Some(9.0));
        assert_eq!(after(Key::PageUp), Some(0.0));
        assert_eq!(after(Key::Left), Some(0.0));
        assert_eq!(after(Key::Right), Some(1.0));
        assert_eq!(after(Key::PageDown), Some(11.0));
        assert_eq!(after(Key::PageDown), None);
        assert_eq!(after(Key::Home), Some(0.0));
        assert_eq!(after(Key::End), None);
    }

    #[test]
    fn a_recorded_run_is_played_to_its_end_and_stays_there() {
        let test = model(4);
        let mut state = ViewState::replay();
        state.play(&test, 1.5);
        assert_eq!(state.shown_until_s(&test), 1.5);
        state.play(&test, 60.0);
        assert_eq!((state.until_s, state.is_playing), (None, false));
        state.play(&test, 60.0);
        assert_eq!(state.shown_until_s(&test), 4.0);
    }

    #[test]
    fn the_scale_of_time_stays_within_the_test() {
        let test = model(8);
        let mut state = ViewState::default();
        let mut after = |key| {
            state.key(Key::Char(key), &test);
            state.window_s
        };
        assert_eq!(after('+'), Some(4.0));
        assert_eq!(after('+'), Some(2.0));
        assert_eq!(after('+'), Some(1.0));
        assert_eq!(after('+'), Some(1.0));
        for expected in [Some(2.0), Some(4.0), None, None] {
            assert_eq!(after('-'), expected);
        }
    }

    #[test]
    fn each_panel_can_fill_the_screen() {
        let test = model(1);
        let mut state = ViewState::default();
        let mut seen = Vec::new();
        for _ in 0..5 {
            state.key(Key::Char('e'), &test);
            seen.push(state.expanded);
        }
        let mut expected: Vec<Option<Panel>> = Panel::ALL.map(Some).to_vec();
        expected.push(None);
        assert_eq!(seen, expected);
    }

    #[test]
    fn marks_are_for_running_tests() {
        let mut state = ViewState::default();
        assert_eq!(state.key(Key::Char('m'), &model(2)), Action::Mark(2.0));
        let header = serde_json::json!({
            "schema": "caudal.run/1", "id": "1", "tool": {"name": "caudal"}, "plan": {"kind": "tcp"},
        });
        let over = Model {
            run: Some(Box::new(serde_json::from_value(header).unwrap())),
            ..model(2)
        };
        assert_eq!(state.key(Key::Char('m'), &over), Action::Draw);
        assert!(state.note.is_some());
    }

    #[test]
    fn any_key_closes_the_help() {
        let mut state = ViewState::default();
        state.key(Key::Char('?'), &model(1));
        assert!(state.shows_help);
        assert_eq!(state.key(Key::Char('q'), &model(1)), Action::Draw);
        assert!(!state.shows_help);
        assert_eq!(state.key(Key::Char('q'), &model(1)), Action::Quit);
    }
}
