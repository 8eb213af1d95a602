//! The output of a command: views of its events, and the places they write to.

pub mod capture;
pub mod closing;
mod columns;
pub mod csv;
mod diagnostic;
pub mod emphasis;
pub(crate) mod findings;
mod idle_windows;
pub mod interval_table;
pub mod json_lines;
mod next_step;
pub mod path;
pub mod progress;
pub mod quality;
pub mod round_trips;
pub mod run_table;
pub mod search_table;
pub mod sink;
pub mod table;
pub mod text;
pub mod text_form;
pub mod transfers;
pub mod views;
pub mod width;
mod window_text;
pub use diagnostic::diagnostic;
