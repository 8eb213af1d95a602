//! `caudal ui`: tests, runs, studies and labs in the user's own browser.

mod args;
mod command;
mod forms;

pub use args::UiArgs;
pub(crate) use command::ui;
