//! The output of a command: the views that its flags ask for, and the places they write to.

pub mod sink;
pub mod views;
mod width;
pub use sink::diagnostic;
pub use width::{fold, line_width};
