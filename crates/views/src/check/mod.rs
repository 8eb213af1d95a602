//! How several tests of one host are shown.

mod closing;
mod csv;
mod lines;
mod view;

pub use csv::CheckFigure;
pub use lines::{line, lines};
pub use view::CheckView;
