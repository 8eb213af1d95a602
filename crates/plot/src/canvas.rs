//! The canvas that layers draw on.

use std::fmt::Write as _;

use crate::labels::{DrawnCells, Label};
use crate::plot_area::PlotArea;
use crate::svg::escaped;

/// The SVG of the layers, with the cells they draw on and the labels to place.
pub(crate) struct Canvas {
    pub(crate) out: String,
    pub(crate) drawn: DrawnCells,
    pub(crate) labels: Vec<Label>,
}

impl Canvas {
    pub(crate) fn new(plot: &PlotArea) -> Self {
        Self {
            out: String::new(),
            drawn: DrawnCells::new(plot),
            labels: Vec::new(),
        }
    }

    /// Writes a path of a class, with a tooltip unless `tooltip` is empty.
    pub(crate) fn path(&mut self, class: &str, path: &str, tooltip: &str) {
        if path.is_empty() {
            return;
        }
        let _ = if tooltip.is_empty() {
            writeln!(self.out, "<path class=\"{class}\" d=\"{path}\"/>")
        } else {
            writeln!(
                self.out,
                "<path class=\"{class}\" d=\"{path}\"><title>{}</title></path>",
                escaped(tooltip)
            )
        };
    }
}
