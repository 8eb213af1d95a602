//! What several layers draw with: places side by side, markers, whiskers, rings, and dashes for missing values.

use crate::canvas::Canvas;
use crate::plot_area::PlotArea;
use crate::svg::{coordinate, pair};
use std::fmt::Write as _;

/// The path of the marker of a series around a point.
pub(crate) fn marker(class: usize, x: f64, y: f64) -> String {
    let from = |dx: f64, dy: f64| format!("M{}", pair((x + dx, y + dy)));
    match class {
        0 => format!("{}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", from(-3.0, 0.0)),
        1 => format!("{}h5.4v5.4h-5.4z", from(-2.7, -2.7)),
        2 => format!("{}l3.4 5.8h-6.8z", from(0.0, -3.6)),
        3 => format!("{}l3.8 3.8l-3.8 3.8l-3.8 -3.8z", from(0.0, -3.8)),
        4 => format!("{}l3.4 -5.8h-6.8z", from(0.0, 3.6)),
        5 => format!("{}v7.6m-3.8 -3.8h7.6", from(0.0, -3.8)),
        6 => format!("{}l5.6 5.6m0 -5.6l-5.6 5.6", from(-2.8, -2.8)),
        _ => format!("{}h6.4l-6.4 6.4h6.4z", from(-3.2, -3.2)),
    }
}

/// The path of a whisker: from a value to the known ends of its interval, with caps of a half width.
pub(super) fn whisker(
    plot: &PlotArea,
    along: f64,
    at: f64,
    (low, high): (Option<f64>, Option<f64>),
    half: f64,
) -> String {
    let mut path = String::new();
    for end in [low, high].into_iter().flatten() {
        let (a, b) = (plot.point(along, at), plot.point(along, end));
        let (from, to) = (plot.point(along - half, end), plot.point(along + half, end));
        let _ = write!(path, "M{}L{}M{}L{}", pair(a), pair(b), pair(from), pair(to));
    }
    path
}

/// Draws a single sample as a small ring, smaller where there is only `room` to either side.
pub(super) fn ring(canvas: &mut Canvas, class: &str, (x, y): (f64, f64), room: f64) {
    canvas.drawn.mark_point((x, y));
    let _ = writeln!(
        canvas.out,
        "<circle class=\"{class}\" r=\"{}\" cx=\"{}\" cy=\"{}\"/>",
        coordinate((room * 0.3).clamp(1.0, 1.9)),
        coordinate(x),
        coordinate(y)
    );
}

/// Draws the dash for a missing value.
pub(super) fn missing(canvas: &mut Canvas, plot: &PlotArea, along: f64, half: f64) {
    let half = half.min(5.0);
    let up = if plot.categories_on_y() { 7.0 } else { -7.0 };
    let at = plot.baseline() + up;
    let (a, b) = (plot.point(along - half, at), plot.point(along + half, at));
    let path = if plot.categories_on_y() {
        let (x, y) = plot.point(along, at);
        format!("M{}h10", pair((x - 3.0, y)))
    } else {
        format!("M{}L{}", pair(a), pair(b))
    };
    canvas.path("c m", &path, "no data");
}

/// The index of a layer among those of its kind.
#[derive(Clone, Copy)]
pub(super) struct SideBySide {
    /// The index, from 0.
    pub index: usize,
    /// The number of layers of the kind.
    pub count: usize,
}

impl SideBySide {
    /// The offset of this layer from the middle of a position, and its width, when all together take `room`.
    pub(super) fn offset_and_width(self, room: f64) -> (f64, f64) {
        let width = room / self.count.max(1) as f64;
        ((self.index as f64 + 0.5) * width - room / 2.0, width)
    }
}
