//! The drawing: where title, legend, axes, notes and layers go.

use super::Figure;
use super::axis::Ranged;
use super::frame::{self, Below, TICK_GAP};
use super::labels::{self, Label};
use super::layers::{self, Canvas, Extent, Plane};
use super::legend::{self, AllSeries};
use super::text::{coordinate, cut, escaped, width, wrap};
use std::collections::BTreeSet;
use std::fmt::Write as _;

pub(super) const TITLE_SIZE: f64 = 16.0;
pub(super) const TEXT_SIZE: f64 = 12.0;
pub(super) const LINE_HEIGHT: f64 = 1.35;
/// How much wider bold letters are than those of the width table.
pub(super) const BOLD: f64 = 1.17;
pub(super) const MARGIN: f64 = 16.0;
/// The part of the height asked for that the data have at least.
const DATA: f64 = 0.45;

/// The figure as SVG, with a style sheet of its own or without.
pub(super) fn svg(figure: &Figure, style: Option<&str>) -> String {
    // Labels without a place in the plot go into the legend, which makes the plot smaller.
    let mut aside = BTreeSet::new();
    for _ in 0..3 {
        let (svg, mut without) = attempt(figure, style, &aside);
        if without.is_empty() {
            return svg;
        }
        aside.append(&mut without);
    }
    // In the end all are there.
    aside.extend(0..figure.layers.len());
    attempt(figure, style, &aside).0
}

/// The figure with the labels of some layers in the legend, and the layers whose labels have no good place.
fn attempt(
    figure: &Figure,
    style: Option<&str>,
    aside: &BTreeSet<usize>,
) -> (String, BTreeSet<usize>) {
    let wide = f64::from(figure.size.0.max(240));
    let asked = f64::from(figure.size.1.max(160));
    let series = AllSeries::of(figure);
    let (title, y) = title(figure, wide);
    let (legend, y) = legend::legend(figure, &series, aside, wide, y + 6.0);
    let top = y + 18.0;

    let extent = Extent::of(figure);
    let y_axis = figure.y.ranged(extent.ys.iter().copied(), 6, true);
    let beside = frame::beside(figure, &y_axis, wide * 0.36);
    let widest = beside.iter().flatten().map(|line| width(line, TEXT_SIZE));
    let titled = if figure.y.label.is_empty() {
        0.0
    } else {
        TEXT_SIZE * LINE_HEIGHT + 4.0
    };
    let left = MARGIN + titled + widest.fold(0.0, f64::max) + TICK_GAP;
    let (x_axis, right) = horizontal(figure, &extent.xs, left, wide);
    let below = Below::fit(figure, &x_axis, left, right);

    let notes = notes(figure, extent.hidden, wide - left - MARGIN);
    let x_title = if figure.x.label.is_empty() {
        0.0
    } else {
        TEXT_SIZE * LINE_HEIGHT
    };
    let under = TICK_GAP
        + below.height()
        + x_title
        + notes.len() as f64 * TEXT_SIZE * LINE_HEIGHT
        + if notes.is_empty() { 0.0 } else { 6.0 }
        + MARGIN * 0.75;
    // Places need room for their names.
    let places = figure.y.categories.as_ref().map_or(0.0, |_| {
        let lines = beside.iter().map(Vec::len).max().unwrap_or(1).max(1);
        y_axis.ticks.len() as f64 * (lines as f64 * TEXT_SIZE * LINE_HEIGHT + 6.0)
    });
    let high = asked.max((top + under + (asked * DATA).max(places)).ceil());
    let plane = Plane {
        figure,
        wide,
        left,
        right,
        top,
        bottom: high - under,
        x: x_axis,
        y: y_axis,
    };

    let mut out = begin(figure, style, wide, high);
    out.push_str(&title);
    out.push_str(&legend);
    frame::draw(&mut out, &plane, &below, &beside);
    for (nth, line) in notes.iter().rev().enumerate() {
        let y = high - MARGIN * 0.75 - 2.0 - nth as f64 * TEXT_SIZE * LINE_HEIGHT;
        text(&mut out, ("m", TEXT_SIZE, "start"), (left, y), line);
    }
    let without = plot(&mut out, &plane, &series, aside);
    out.push_str("</svg>\n");
    (out, without)
}

/// The horizontal axis with as many labels as stand apart, and its right end.
fn horizontal(figure: &Figure, values: &[f64], left: f64, wide: f64) -> (Ranged, f64) {
    // Where values go to the right their axis ends at round numbers.
    let turned = figure.y.categories.is_some();
    let most = (((wide - left) / 50.0) as usize).clamp(2, 10);
    let shown = values
        .iter()
        .copied()
        .filter(|value| figure.x.shows(*value));
    let ends = [
        shown.clone().fold(f64::INFINITY, f64::min),
        shown.fold(f64::NEG_INFINITY, f64::max),
    ];
    let mut most = most + 1;
    loop {
        most -= 1;
        let axis = figure.x.ranged(ends.into_iter(), most, turned);
        let right = right(figure, &axis, left, wide);
        let mut free_from = f64::NEG_INFINITY;
        let apart = axis.ticks.iter().all(|tick| {
            let middle = left + axis.position(tick.value) * (right - left);
            let half = width(&tick.label, TEXT_SIZE) / 2.0;
            let free = tick.label.is_empty() || middle - half >= free_from;
            if !tick.label.is_empty() {
                free_from = middle + half + 18.0;
            }
            free
        });
        if apart || most <= 2 || figure.x.categories.is_some() {
            return (axis, right);
        }
    }
}

/// The right end of the plot: the last label may reach beyond it.
fn right(figure: &Figure, axis: &Ranged, left: f64, wide: f64) -> f64 {
    let end = wide - MARGIN;
    if figure.x.categories.is_some() {
        return end;
    }
    let overhang = axis
        .ticks
        .iter()
        .map(|tick| {
            width(&tick.label, TEXT_SIZE) / 2.0 - (1.0 - axis.position(tick.value)) * (end - left)
        })
        .fold(0.0, f64::max);
    end - overhang.min((end - left) / 4.0)
}

/// The title as drawn, and where it ends.
fn title(figure: &Figure, wide: f64) -> (String, f64) {
    let mut out = String::new();
    let mut y = MARGIN;
    let room = (wide - 2.0 * MARGIN) / BOLD;
    let mut lines = wrap(&figure.title, TITLE_SIZE, room);
    if lines.len() > 3 {
        let rest = lines.split_off(2).join(" ");
        lines.push(cut(&rest, TITLE_SIZE, room));
    }
    for line in lines {
        y += TITLE_SIZE;
        text(&mut out, ("t", TITLE_SIZE, "start"), (MARGIN, y), &line);
        y += TITLE_SIZE * (LINE_HEIGHT - 1.0);
    }
    (out, y)
}

/// What stands under the figure, in lines.
fn notes(figure: &Figure, hidden: usize, room: f64) -> Vec<String> {
    let mut lines = wrap(figure.note.as_deref().unwrap_or(""), TEXT_SIZE, room);
    if hidden > 0 {
        let words = format!(
            "{hidden} value{} not shown: the scale has no place for {}",
            if hidden == 1 { "" } else { "s" },
            if hidden == 1 { "it" } else { "them" },
        );
        lines.extend(wrap(&words, TEXT_SIZE, room));
    }
    lines
}

fn begin(figure: &Figure, style: Option<&str>, wide: f64, high: f64) -> String {
    let (w, h) = (coordinate(wide), coordinate(high));
    let style = style.map_or_else(String::new, |style| format!("<style>{style}</style>"));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"caudal\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         role=\"img\" aria-label=\"{0}\"><title>{0}</title><desc>{1}</desc>{style}\n<rect class=\"b\" width=\"{w}\" height=\"{h}\"/>\n",
        escaped(&figure.title),
        escaped(&figure.description),
    )
}

/// A text of a class and size, anchored.
pub(super) fn text(
    out: &mut String,
    (class, size, anchor): (&str, f64, &str),
    (x, y): (f64, f64),
    words: &str,
) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" font-size=\"{size}\" text-anchor=\"{anchor}\" x=\"{}\" y=\"{}\">{}</text>",
        coordinate(x),
        coordinate(y),
        escaped(words)
    );
}

/// The layers, in an `svg` of their own that cuts off what leaves the plot, and their labels.
fn plot(
    out: &mut String,
    plane: &Plane,
    series: &AllSeries,
    aside: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    // Strokes and markers on the very edge stay whole.
    let edge = 6.0;
    let (x, y) = (plane.left - edge, plane.top - edge);
    let (wide, high) = (
        plane.right - plane.left + 2.0 * edge,
        plane.bottom - plane.top + 2.0 * edge,
    );
    let _ = writeln!(
        out,
        "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">",
        coordinate(x),
        coordinate(y),
        coordinate(wide),
        coordinate(high)
    );
    let mut canvas = Canvas::over(plane);
    layers::draw(&mut canvas, plane, series);
    out.push_str(&canvas.out);
    out.push_str("</svg>\n");
    if series.all_empty(plane.figure) {
        canvas
            .labels
            .insert(0, Label::in_the_middle(plane, "no data"));
    }
    labels::write(out, plane, &canvas.ink, &canvas.labels, aside)
}
