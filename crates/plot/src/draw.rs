//! Drawing a figure: the layout of title, legend, axes, notes and plot.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::axis::ScaledAxis;
use crate::canvas::Canvas;
use crate::figure::Figure;
use crate::frame::{self, XLabels};
use crate::labels::{self, Label};
use crate::layers;
use crate::layout::{
    BOLD_WIDTH, LINE_HEIGHT, MARGIN, PLOT_LEFT, TEXT_SIZE, TICK_GAP, TITLE_SIZE, WIDE,
};
use crate::legend;
use crate::plot_area::PlotArea;
use crate::series::SeriesSet;
use crate::style;
use crate::svg::{coordinate, escaped, text_element};
use crate::text::{cut, width, wrap};

/// Minimum share of the requested height that the data get.
const MIN_DATA_SHARE: f64 = 0.45;

impl Figure {
    /// The figure as a self-contained SVG file: light or dark as the reader prefers, light in print and in programs
    /// unplaced a preference.
    #[must_use]
    pub fn svg(&self) -> String {
        svg(self, Some(style::STYLE_SHEET))
    }

    /// The figure as a self-contained SVG file that is always dark.
    #[must_use]
    pub fn dark_svg(&self) -> String {
        svg(self, Some(style::DARK))
    }

    /// The figure as SVG for a page that includes [`STYLE_SHEET`](style::STYLE_SHEET).
    #[must_use]
    pub fn inline_svg(&self) -> String {
        svg(self, None)
    }
}

/// Draws the figure as SVG, with or unplaced a style sheet of its own.
fn svg(figure: &Figure, style: Option<&str>) -> String {
    // Labels unplaced a position in the plot move to the legend, which makes the plot smaller.
    let mut in_legend = BTreeSet::new();
    for _ in 0..3 {
        let (svg, mut unplaced) = draw_with_legend(figure, style, &in_legend);
        if unplaced.is_empty() {
            return svg;
        }
        in_legend.append(&mut unplaced);
    }
    // After three attempts all labels are in the legend.
    in_legend.extend(0..figure.layers.len());
    draw_with_legend(figure, style, &in_legend).0
}

/// Draws the figure with the labels of some layers in the legend; also returns the layers whose labels have no good position.
fn draw_with_legend(
    figure: &Figure,
    style: Option<&str>,
    in_legend: &BTreeSet<usize>,
) -> (String, BTreeSet<usize>) {
    let figure_width = f64::from(figure.size.0.max(240));
    let requested_height = f64::from(figure.size.1.max(160));
    let series = SeriesSet::new(figure);
    let (title, y) = title(figure, figure_width);
    let (legend, y) = legend::legend(figure, &series, in_legend, figure_width, y + 6.0);
    let top = y + 18.0;

    let extent = layers::extent(figure);
    let y_axis = figure.y.scaled(extent.ys.iter().copied(), 6, true);
    let y_labels = frame::y_labels(figure, &y_axis, figure_width * 0.36);
    let widest = y_labels.iter().flatten().map(|line| width(line, TEXT_SIZE));
    let y_title = if figure.y.label.is_empty() {
        0.0
    } else {
        TEXT_SIZE * LINE_HEIGHT + 4.0
    };
    let labels = MARGIN + y_title + widest.fold(0.0, f64::max) + TICK_GAP;
    let is_wide = figure_width >= WIDE && figure.y.categories.is_none();
    let left = if is_wide {
        labels.max(PLOT_LEFT)
    } else {
        labels
    };
    let (x_axis, right) = horizontal(figure, &extent.xs, left, figure_width);
    let x_labels = XLabels::fit(figure, &x_axis, left, right);

    let notes = notes(figure, extent.hidden, figure_width - left - MARGIN);
    let x_title = if figure.x.label.is_empty() {
        0.0
    } else {
        TEXT_SIZE * LINE_HEIGHT
    };
    let bottom_height = TICK_GAP
        + x_labels.height()
        + x_title
        + notes.len() as f64 * TEXT_SIZE * LINE_HEIGHT
        + if notes.is_empty() { 0.0 } else { 6.0 }
        + MARGIN * 0.75;
    // Categories need room for their names.
    let categories_height = figure.y.categories.as_ref().map_or(0.0, |_| {
        let lines = y_labels.iter().map(Vec::len).max().unwrap_or(1).max(1);
        y_axis.ticks.len() as f64 * (lines as f64 * TEXT_SIZE * LINE_HEIGHT + 6.0)
    });
    let height = requested_height.max(
        (top + bottom_height + (requested_height * MIN_DATA_SHARE).max(categories_height)).ceil(),
    );
    let plot = PlotArea {
        figure,
        figure_width,
        left,
        right,
        top,
        bottom: height - bottom_height,
        x: x_axis,
        y: y_axis,
    };

    let mut out = begin(figure, style, figure_width, height);
    out.push_str(&title);
    out.push_str(&legend);
    frame::draw(&mut out, &plot, &x_labels, &y_labels);
    for (nth, line) in notes.iter().rev().enumerate() {
        let y = height - MARGIN * 0.75 - 2.0 - nth as f64 * TEXT_SIZE * LINE_HEIGHT;
        text_element(&mut out, ("m", TEXT_SIZE, "start"), (left, y), line);
    }
    let unplaced = draw_layers(&mut out, &plot, &series, in_legend);
    out.push_str("</svg>\n");
    (out, unplaced)
}

/// The horizontal axis with as many labels as fit, and the right end of the plot.
fn horizontal(figure: &Figure, values: &[f64], left: f64, figure_width: f64) -> (ScaledAxis, f64) {
    // An axis of values to the right ends at round numbers.
    let categories_on_y = figure.y.categories.is_some();
    let max_ticks = (((figure_width - left) / 50.0) as usize).clamp(2, 10);
    let shown = values
        .iter()
        .copied()
        .filter(|value| figure.x.shows(*value));
    let ends = [
        shown.clone().fold(f64::INFINITY, f64::min),
        shown.fold(f64::NEG_INFINITY, f64::max),
    ];
    let mut max_ticks = max_ticks + 1;
    loop {
        max_ticks -= 1;
        let axis = figure
            .x
            .scaled(ends.into_iter(), max_ticks, categories_on_y);
        let right = right(figure, &axis, left, figure_width);
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
        if apart || max_ticks <= 2 || figure.x.categories.is_some() {
            return (axis, right);
        }
    }
}

/// The right end of the plot, which leaves room for the last label.
fn right(figure: &Figure, axis: &ScaledAxis, left: f64, figure_width: f64) -> f64 {
    let end = figure_width - MARGIN;
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

/// The title as SVG, with the y coordinate at which it ends.
fn title(figure: &Figure, figure_width: f64) -> (String, f64) {
    let mut out = String::new();
    let mut y = MARGIN;
    let room = (figure_width - 2.0 * MARGIN) / BOLD_WIDTH;
    let mut lines = wrap(&figure.title, TITLE_SIZE, room);
    if lines.len() > 3 {
        let rest = lines.split_off(2).join(" ");
        lines.push(cut(&rest, TITLE_SIZE, room));
    }
    for line in lines {
        y += TITLE_SIZE;
        text_element(&mut out, ("t", TITLE_SIZE, "start"), (MARGIN, y), &line);
        y += TITLE_SIZE * (LINE_HEIGHT - 1.0);
    }
    (out, y)
}

/// The lines of the note below the figure.
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

fn begin(figure: &Figure, style: Option<&str>, figure_width: f64, height: f64) -> String {
    let (w, h) = (coordinate(figure_width), coordinate(height));
    let style = style.map_or_else(String::new, |style| format!("<style>{style}</style>"));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"caudal\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         role=\"img\" aria-label=\"{0}\"><title>{0}</title><desc>{1}</desc>{style}\n<rect class=\"b\" width=\"{w}\" height=\"{h}\"/>\n",
        escaped(&figure.title),
        escaped(&figure.description),
    )
}

/// Draws the layers, in an `svg` element that clips them at the plot, and their labels.
fn draw_layers(
    out: &mut String,
    plot: &PlotArea,
    series: &SeriesSet,
    in_legend: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    // Strokes and markers at the edge are not clipped.
    let edge = 6.0;
    let (x, y) = (plot.left - edge, plot.top - edge);
    let (figure_width, height) = (
        plot.right - plot.left + 2.0 * edge,
        plot.bottom - plot.top + 2.0 * edge,
    );
    let _ = writeln!(
        out,
        "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">",
        coordinate(x),
        coordinate(y),
        coordinate(figure_width),
        coordinate(height)
    );
    let mut canvas = Canvas::new(plot);
    layers::draw(&mut canvas, plot, series);
    out.push_str(&canvas.out);
    out.push_str("</svg>\n");
    if series.are_all_empty(plot.figure) {
        canvas.labels.insert(0, Label::centred(plot, "no data"));
    }
    labels::write(out, plot, &canvas.drawn, &canvas.labels, in_legend)
}
