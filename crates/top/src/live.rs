//! A running test on the screen, drawn by a thread of its own: the test only leaves its events here.

use crate::draw::draw_test;
use crate::model::Model;
use crate::screen::{ScreenError, ScreenSource, SourceUpdate, show};
use crate::state::ViewState;
use caudal_core::event::{Event, View};
use caudal_sys::signal::Interrupt;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum number of events that wait to be shown: a terminal that does not take them costs the oldest, never the test its pace.
const MAX_WAITING: usize = 4096;

/// What the test and its screen share.
#[derive(Debug, Default)]
struct SharedEvents {
    events: VecDeque<Event>,
    notes: Vec<String>,
    /// What is being done.
    status: Option<String>,
    marks_s: Vec<f64>,
    /// `true` once no event comes any more.
    is_over: bool,
    /// `true` where the screen is to go at once.
    is_abandoned: bool,
}

/// A running test as a screen shows it.
#[derive(Debug)]
pub struct LiveTest {
    model: Model,
    /// `true` once the test has announced itself.
    has_headline: bool,
    shared: Arc<Mutex<SharedEvents>>,
    /// `true` once the user, or a signal, has asked for the end.
    is_ending: bool,
    interrupts: u32,
    interrupt: &'static Interrupt,
}

/// The screen of a running test; given back when this is dropped.
#[derive(Debug)]
pub struct LiveScreen {
    shared: Arc<Mutex<SharedEvents>>,
    thread: Option<JoinHandle<Result<(), ScreenError>>>,
}

fn locked(shared: &Mutex<SharedEvents>) -> MutexGuard<'_, SharedEvents> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LiveScreen {
    /// Takes over the terminal for a test that is about to begin, asked for by this command line.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(command: &str, interrupt: &'static Interrupt) -> io::Result<Self> {
        let shared = Arc::new(Mutex::new(SharedEvents::default()));
        let mut test = LiveTest {
            model: Model {
                is_live: true,
                ..Model::new(command)
            },
            has_headline: false,
            shared: Arc::clone(&shared),
            is_ending: false,
            interrupts: interrupt.count(),
            interrupt,
        };
        let thread = thread::Builder::new()
            .name("screen".to_owned())
            .spawn(move || show(&mut test, &mut ViewState::default(), interrupt))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Shows a line about the test; the first is its headline.
    pub fn note(&self, line: &str) {
        locked(&self.shared).notes.push(line.to_owned());
    }

    /// Shows what is being done at the foot of the screen, until the next key or line.
    pub fn status(&self, line: &str) {
        locked(&self.shared).status = Some(line.to_owned());
    }

    /// The moments that the user has marked, s after the start.
    #[must_use]
    pub fn marks_s(&self) -> Vec<f64> {
        locked(&self.shared).marks_s.clone()
    }

    /// Waits until the user has seen the result.
    pub fn finish(mut self) {
        locked(&self.shared).is_over = true;
        self.join();
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A terminal that could not be used leaves the text that follows.
            let _ = thread.join();
        }
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        locked(&self.shared).is_abandoned = true;
        self.join();
    }
}

impl View for LiveScreen {
    fn event(&mut self, event: &Event) {
        if event.is_documented() || matches!(event, Event::Transfer(_)) {
            let mut shared = locked(&self.shared);
            if shared.events.len() >= MAX_WAITING {
                shared.events.pop_front();
            }
            shared.events.push_back(event.clone());
        }
    }
}

impl ScreenSource for LiveTest {
    fn update(&mut self, view: &mut ViewState, _elapsed: Duration) -> SourceUpdate {
        self.is_ending |= self.interrupt.count() > self.interrupts;
        let (events, notes, status, is_over) = {
            let mut shared = locked(&self.shared);
            if shared.is_abandoned {
                return SourceUpdate::Over;
            }
            let notes = std::mem::take(&mut shared.notes);
            let status = shared.status.take();
            (
                std::mem::take(&mut shared.events),
                notes,
                status,
                shared.is_over,
            )
        };
        let is_same = events.is_empty() && notes.is_empty() && status.is_none();
        if status.is_some() {
            view.note = status;
        }
        for note in notes {
            if !std::mem::replace(&mut self.has_headline, true) {
                self.model.headline = note;
            } else {
                self.model.line(&note);
                view.note = Some(note);
            }
        }
        for event in &events {
            self.model.event(event);
        }
        if is_over && self.is_ending {
            return SourceUpdate::Over;
        }
        match is_same {
            true => SourceUpdate::Same,
            false => SourceUpdate::Changed,
        }
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn draw(&self, buffer: &mut Buffer, screen: Rect, view: &ViewState) {
        draw_test(buffer, screen, &self.model, view);
    }

    fn mark(&mut self, at_s: f64) {
        self.model.mark(at_s);
        locked(&self.shared).marks_s = self.model.marks_s.clone();
    }
}
