//! Figures as SVG: a description in the units of the data, and its drawing. Pure: the same description gives the same
//! bytes, with or without fonts on the machine.
//!
//! Colours come from classes in one style sheet, so that a figure follows the scheme of the page it is in: light, dark
//! by preference or by `data-theme`, and light in print. No identifiers, so that many share a page.
#![forbid(unsafe_code)]

mod axis;
mod draw;
mod frame;
mod labels;
mod layer;
mod layers;
mod legend;
mod style;
#[cfg(test)]
mod tests;
mod text;

pub use axis::{Axis, Quantity, Scale};
pub use layer::{Bar, FiveNumbers, Known, Layer};
pub use style::{COLOURS, STYLE_SHEET};
pub use text::escaped;

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
    /// Width and height in pixels. It becomes higher where title, legend and notes would leave too little for the data.
    pub size: (u32, u32),
    /// What stands under it.
    pub note: Option<String>,
}

impl Figure {
    /// The usual size.
    pub const SIZE: (u32, u32) = (800, 450);

    /// The size for half a page, or a phone.
    pub const HALF: (u32, u32) = (400, 300);

    /// The figure as SVG, a whole file: light or dark as its reader prefers, light in print and in programs that know
    /// no preference.
    #[must_use]
    pub fn svg(&self) -> String {
        draw::svg(self, Some(STYLE_SHEET))
    }

    /// The figure as SVG, a whole file that is dark everywhere.
    #[must_use]
    pub fn dark_svg(&self) -> String {
        draw::svg(self, Some(style::DARK))
    }

    /// The figure as SVG for a page that has [`STYLE_SHEET`] in its style.
    #[must_use]
    pub fn inline_svg(&self) -> String {
        draw::svg(self, None)
    }
}
