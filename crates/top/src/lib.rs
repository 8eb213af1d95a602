//! Running tests, recorded runs, servers and labs on a terminal's whole screen.
//!
//! [`Model`] folds the events of a test, live or of a recorded run; [`ViewState`] is what the keys change; `draw` puts both on the screen;
//! [`show`] owns the terminal.

#![forbid(unsafe_code)]

mod draw;
mod figure;
mod keys;
mod live;
mod model;
mod polled;
mod replay;
mod screen;
mod state;

pub use live::{LiveScreen, LiveTest};
pub use model::{Band, FlowHistory, FlowPoint, Model, ServerModel, ShownSession, TestPoint};
pub use polled::{PolledServer, PolledText};
pub use replay::Replay;
pub use screen::{ScreenError, ScreenSource, SourceUpdate, show, unusable_terminal};
pub use state::{Action, Key, Panel, ShownUnit, ViewState};
