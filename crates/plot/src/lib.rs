//! Figures as SVG: from a description in the units of the data. Pure: the same description gives the same
//! bytes, with or without fonts on the machine.
//!
//! Colours come from classes in one style sheet, so that a figure follows the scheme of the page that contains it: light, dark
//! by preference or by `data-theme`, and light in print. Figures have no element identifiers, so that several can share a page.
#![forbid(unsafe_code)]

mod axis;
mod canvas;
mod draw;
mod extent;
mod figure;
mod frame;
mod labels;
mod ladder;
mod layer;
mod layers;
mod layout;
mod legend;
mod path;
mod plot_area;
mod quantity;
mod series;
mod style;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;
mod text;

pub use axis::{Axis, Scale};
pub use figure::Figure;
pub use ladder::{LadderArrow, LadderFigure, LadderWay};
pub use layer::{Bar, FiveNumbers, IntervalPoint, Layer};
pub use path::{PathFigure, PathFigureHop, PathFigureLink, PathFigureMark};
pub use quantity::AxisQuantity;
pub use style::{COLOURS, STYLE_SHEET};
pub use svg::escaped;
pub use terminal::{TerminalLine, terminal_svg};
