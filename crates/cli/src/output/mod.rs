//! The output of a command: the views that its flags ask for, and the places they write to.

mod diagnostic;
pub mod sink;
pub mod views;
mod width;
pub use diagnostic::diagnostic;
pub use width::{fold, line_width};
