//! How several tests of one host are shown.

mod closing;
mod csv;
mod lines;
mod view;

pub use csv::CheckFigure;
pub use lines::{CheckLine, fold_line, line, lines};
pub use view::CheckView;
