//! Annotations: events, reference lines and named points.

use std::fmt::Write as _;

use crate::canvas::Canvas;
use crate::labels::Label;
use crate::plot_area::PlotArea;
use crate::svg::{coordinate, pair};

/// The least width of a span, so that a short one is seen.
const MIN_SPAN: f64 = 1.5;

pub(super) fn event(canvas: &mut Canvas, plot: &PlotArea, layer: usize, at: f64, label: &str) {
    let Some(x) = plot.x(at) else { return };
    let (from, to) = ((x, plot.top), (x, plot.bottom));
    canvas.path("v", &format!("M{}L{}", pair(from), pair(to)), label);
    canvas.drawn.mark_line(from, to);
    canvas.labels.push(Label::for_event(layer, plot, x, label));
}

pub(super) fn span(
    canvas: &mut Canvas,
    plot: &PlotArea,
    layer: usize,
    (from, to): (f64, f64),
    label: &str,
) {
    let (Some(from), Some(to)) = (plot.x(from), plot.x(to)) else {
        return;
    };
    let (left, right) = (from.min(to), from.max(to).max(from.min(to) + MIN_SPAN));
    let outline = format!(
        "M{}L{}L{}L{}z",
        pair((left, plot.top)),
        pair((right, plot.top)),
        pair((right, plot.bottom)),
        pair((left, plot.bottom))
    );
    canvas.path("e", &outline, label);
    canvas
        .labels
        .push(Label::for_event(layer, plot, left, label));
}

pub(super) fn rule(canvas: &mut Canvas, plot: &PlotArea, layer: usize, at: f64, label: &str) {
    let Some(y) = plot.y(at) else { return };
    let (from, to) = ((plot.left, y), (plot.right, y));
    canvas.path("v", &format!("M{}L{}", pair(from), pair(to)), label);
    canvas.drawn.mark_line(from, to);
    canvas.labels.push(Label::for_rule(layer, plot, y, label));
}

pub(super) fn mark(
    canvas: &mut Canvas,
    plot: &PlotArea,
    layer: usize,
    at: (f64, f64),
    label: &str,
) {
    let Some((x, y)) = plot.at(at) else { return };
    let _ = writeln!(
        canvas.out,
        "<circle class=\"d\" r=\"3.5\" cx=\"{}\" cy=\"{}\"/>",
        coordinate(x),
        coordinate(y)
    );
    canvas.drawn.mark_point((x, y));
    canvas
        .labels
        .push(Label::for_mark(layer, plot, (x, y), label));
}
