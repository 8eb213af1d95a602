//! The terminal: taken over, drawn at most ten times a second, and given back however the view ends.

use crate::draw::{Theme, make_plain};
use crate::keys::{Keyboard, keys_of};
use crate::model::Model;
use crate::state::{Action, ViewState};
use caudal_sys::signal::{Interrupt, interrupt_this_process, stop_this_job};
use caudal_sys::terminal::{TerminalInput, read_input};
use ratatui::buffer::Buffer;
use ratatui::crossterm::style::force_color_output;
use ratatui::layout::Rect;
use ratatui::{DefaultTerminal, try_init, try_restore};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// The least time between two drawings.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);
/// The longest time that is waited for a key before the source is asked again.
const KEY_WAIT: Duration = Duration::from_millis(50);

/// Something that can be shown.
pub trait ScreenSource {
    /// Takes what has happened meanwhile.
    fn update(&mut self, view: &mut ViewState, elapsed: Duration) -> SourceUpdate;

    /// The test that is shown, as far as keys refer to one.
    fn model(&self) -> &Model;

    /// Draws it.
    fn draw(&self, buffer: &mut Buffer, screen: Rect, view: &ViewState);

    /// Keeps a moment, s after the start.
    fn mark(&mut self, at_s: f64) {
        let _ = at_s;
    }

    /// Goes to the next of several runs.
    fn next_run(&mut self) {}
}

/// What a source has to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceUpdate {
    /// Nothing is new.
    Same,
    /// There is more to show.
    Changed,
    /// What was shown is over, and the view ends.
    Over,
}

/// Why the view could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// The terminal could not be used.
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
}

/// The reason why standard output cannot show a whole screen; `None` where it can.
#[must_use]
pub fn unusable_terminal() -> Option<String> {
    if !io::stdout().is_terminal() {
        return Some("standard output is no terminal".to_owned());
    }
    match std::env::var("TERM") {
        Ok(term) if term == "dumb" || term.is_empty() => {
            Some(format!("a terminal of TERM={term:?} cannot place text"))
        }
        Err(_) => Some("TERM is not set, so the terminal is not known to place text".to_owned()),
        Ok(_) => None,
    }
}

/// The colours and characters that the environment allows.
///
/// Source: no-color.org; locale(7) for the order of the variables.
fn theme() -> Theme {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL")
        .or_else(|| set("LC_CTYPE"))
        .or_else(|| set("LANG"));
    let is_unicode = locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    Theme {
        has_color: set("NO_COLOR").is_none(),
        is_unicode,
    }
}

/// The terminal while it is taken over; given back when this is dropped.
struct TakenTerminal(DefaultTerminal);

impl TakenTerminal {
    fn take() -> io::Result<Self> {
        // Colours are left out by this program itself: crossterm would reset bold and reverse text with them.
        force_color_output(true);
        let mut terminal = try_init()?;
        terminal.clear()?;
        Ok(Self(terminal))
    }
}

impl Drop for TakenTerminal {
    fn drop(&mut self) {
        let _ = try_restore();
    }
}

/// Shows a source until the user ends the view, the source is over, or the process is to end.
///
/// # Errors
/// When the terminal cannot be used.
pub fn show(
    source: &mut dyn ScreenSource,
    view: &mut ViewState,
    interrupt: &Interrupt,
) -> Result<(), ScreenError> {
    let theme = theme();
    let interrupts = interrupt.count();
    let keyboard = Keyboard::open()?;
    let mut terminal = Some(TakenTerminal::take()?);
    let mut is_dirty = true;
    let mut drawn: Option<Instant> = None;
    let mut updated = Instant::now();
    let mut buffer = [0; 64];
    let mut drawn_size = None;
    loop {
        let now = Instant::now();
        let state = source.update(view, now - updated);
        updated = now;
        match state {
            SourceUpdate::Over => return Ok(()),
            SourceUpdate::Changed => is_dirty = true,
            SourceUpdate::Same => {}
        }
        if interrupt.count() > interrupts && !source_ends_itself(source) {
            return Ok(());
        }
        let is_due = drawn.is_none_or(|drawn| drawn.elapsed() >= DRAW_INTERVAL);
        if is_dirty && is_due {
            if let Some(taken) = &mut terminal {
                draw(&mut taken.0, source, view, theme)?;
            }
            is_dirty = false;
            drawn = Some(Instant::now());
        }
        let size = terminal.as_ref().and_then(|taken| taken.0.size().ok());
        if size != drawn_size {
            drawn_size = size;
            is_dirty = true;
        }
        let typed = match read_input(&keyboard, &mut buffer, KEY_WAIT) {
            TerminalInput::Bytes(count) => keys_of(&buffer[..count]),
            TerminalInput::Nothing => continue,
            TerminalInput::Closed => return Ok(()),
        };
        for key in typed {
            is_dirty = true;
            let action = view.key(key, source.model());
            match action {
                Action::Quit if source_ends_itself(source) => interrupt_this_process(),
                Action::Quit => return Ok(()),
                Action::Interrupt => interrupt_this_process(),
                Action::Suspend => {
                    drop(terminal.take());
                    stop_this_job();
                    terminal = Some(TakenTerminal::take()?);
                }
                Action::Clear => {
                    if let Some(taken) = &mut terminal {
                        taken.0.clear()?;
                    }
                }
                Action::Mark(at_s) => source.mark(at_s),
                Action::SaveFigure => view.note = Some(save_figure(source.model(), view)),
                Action::NextRun => source.next_run(),
                Action::Draw => {}
            }
        }
    }
}

/// `true` for a test that is running: it ends with its result, and the view with it.
fn source_ends_itself(source: &dyn ScreenSource) -> bool {
    let model = source.model();
    model.is_live && model.run.is_none()
}

fn draw(
    terminal: &mut DefaultTerminal,
    source: &dyn ScreenSource,
    view: &ViewState,
    theme: Theme,
) -> io::Result<()> {
    terminal.draw(|frame| {
        let screen = frame.area();
        let buffer = frame.buffer_mut();
        source.draw(buffer, screen, view);
        make_plain(buffer, theme);
    })?;
    Ok(())
}

/// Writes the panels as a figure into this directory: what was written, or why not.
fn save_figure(model: &Model, view: &ViewState) -> String {
    let range_s = crate::draw::shown_range(model, view);
    let until_s = view.shown_until_s(model);
    let Some(svg) = crate::figure::panels_svg(model, (range_s.0, range_s.1.min(until_s))) else {
        return "nothing to save yet".to_owned();
    };
    // A name that is free: a figure saved before is kept.
    for number in 1..1000 {
        let name = format!("caudal-top-{number}.svg");
        let created = std::fs::File::create_new(&name);
        match created.and_then(|mut file| io::Write::write_all(&mut file, svg.as_bytes())) {
            Ok(()) => return format!("saved {name}"),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return format!("{name} cannot be written: {error}"),
        }
    }
    "not saved: there are 999 caudal-top-N.svg here already".to_owned()
}
