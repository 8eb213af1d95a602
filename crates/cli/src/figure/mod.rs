//! Figures as SVG: a description in the units of the data, and its drawing. Pure: the same description gives the same
//! bytes, with or without fonts on the machine.
//!
//! Colours come from classes in one style block, so that a figure follows the scheme of the page it is in: light, dark
//! by preference or by `data-theme`, and light in print. No identifiers, so that many share a page.

mod axis;
mod draw;
pub(crate) mod text;

pub use axis::{Axis, Quantity, Scale};

/// How many series have a colour and a dash of their own; further ones begin anew.
pub const COLOURS: usize = 8;

/// What a figure shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What it is about, in a line.
    pub title: String,
    /// The same for who cannot see it: what is drawn, and under what conditions.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Its layers, the first at the back.
    pub layers: Vec<Layer>,
    /// Width and height in pixels.
    pub size: (u32, u32),
}

/// One thing drawn over the axes, in data units.
#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    /// A line through points in their order; what is not a number breaks it.
    Line {
        /// The name in the legend.
        name: String,
        /// The points.
        points: Vec<(f64, f64)>,
    },
}

impl Figure {
    /// The usual size.
    pub const SIZE: (u32, u32) = (800, 450);

    /// The figure as SVG, a whole file.
    #[must_use]
    pub fn svg(&self) -> String {
        draw::svg(self)
    }
}
