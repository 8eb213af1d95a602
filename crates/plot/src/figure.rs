//! The description of a figure.

use crate::axis::Axis;
use crate::layer::Layer;

/// A figure: its axes, its layers and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The title, one line.
    pub title: String,
    /// The description for screen readers: what is drawn, and under what conditions.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The layers, the first at the back.
    pub layers: Vec<Layer>,
    /// The width and height in pixels. The height increases where title, legend and notes would leave too little for the data.
    pub size: (u32, u32),
    /// A note below the plot.
    pub note: Option<String>,
}

impl Figure {
    /// The default size.
    pub const SIZE: (u32, u32) = (800, 450);

    /// The size for half a page or a phone.
    pub const HALF: (u32, u32) = (400, 300);
}
