//! The layers of a figure: their drawing and their extent.

mod annotations;
pub(crate) mod area;
pub(crate) mod bars;
mod boxes;
mod drawing;
mod line;
pub(crate) mod marks;
mod points;

pub(crate) use drawing::{draw, extent};
