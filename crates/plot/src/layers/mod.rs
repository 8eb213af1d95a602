//! The layers of a figure: their drawing and their extent.

mod annotations;
pub(crate) mod area;
pub(crate) mod bars;
mod boxes;
mod drawing;
mod line;
pub(crate) mod marks;
mod points;
mod side_by_side;

pub(crate) use drawing::{draw, extent};
