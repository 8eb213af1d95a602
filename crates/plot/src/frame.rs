//! The frame of the plot: axes with grid, ticks, labels and titles.

use std::fmt::Write as _;

use crate::axis::ScaledAxis;
use crate::figure::Figure;
use crate::layout::{LINE_HEIGHT, MARGIN, TEXT_SIZE, TICK_GAP};
use crate::plot_area::PlotArea;
use crate::svg::{coordinate, escaped, text_element};
use crate::text::{cut, width, words, wrap};

/// The angle of category names that do not fit horizontally, in degrees.
const ROTATION_DEGREES: f64 = 35.0;
/// Maximum length of a rotated name, in pixels.
const MAX_ROTATED_WIDTH: f64 = 150.0;

/// The labels of the horizontal axis.
pub(crate) enum XLabels {
    /// Numbers, each with the width it needs.
    Ticks,
    /// Names wrapped below their positions.
    Wrapped(Vec<Vec<String>>),
    /// Rotated names, one of every so many positions.
    Rotated(Vec<String>, usize),
}

impl XLabels {
    /// The labels of an axis that fit between `left` and `right`.
    pub(crate) fn fit(figure: &Figure, axis: &ScaledAxis, left: f64, right: f64) -> Self {
        if figure.x.categories.is_none() {
            return Self::Ticks;
        }
        let slot = (right - left) / axis.ticks.len().max(1) as f64;
        let room = slot - 4.0;
        let lines: Vec<Vec<String>> = axis
            .ticks
            .iter()
            .map(|tick| wrap(&tick.label, TEXT_SIZE, room))
            .collect();
        let whole = axis.ticks.iter().zip(&lines).all(|(tick, lines)| {
            let longest = words(&tick.label).map(|word| width(word, TEXT_SIZE));
            lines.len() <= 3 && longest.fold(0.0, f64::max) <= room
        });
        if whole {
            return Self::Wrapped(lines);
        }
        let angle = ROTATION_DEGREES.to_radians();
        let every = (TEXT_SIZE * LINE_HEIGHT / (slot * angle.sin()))
            .ceil()
            .max(1.0) as usize;
        let texts = axis
            .ticks
            .iter()
            .map(|tick| {
                let x = left + axis.position(tick.value) * (right - left);
                cut(
                    &tick.label,
                    TEXT_SIZE,
                    ((x - 10.0) / angle.cos()).min(MAX_ROTATED_WIDTH),
                )
            })
            .collect();
        Self::Rotated(texts, every)
    }

    /// The height of the labels.
    pub(crate) fn height(&self) -> f64 {
        match self {
            Self::Ticks => TEXT_SIZE,
            Self::Wrapped(names) => {
                let max_lines = names.iter().map(Vec::len).max().unwrap_or(1).max(1);
                TEXT_SIZE * (1.0 + LINE_HEIGHT * (max_lines - 1) as f64)
            }
            Self::Rotated(names, _) => {
                let longest = names.iter().map(|name| width(name, TEXT_SIZE));
                longest.fold(0.0, f64::max) * ROTATION_DEGREES.to_radians().sin() + TEXT_SIZE
            }
        }
    }
}

/// The labels of the vertical axis, in lines of at most `room`.
pub(crate) fn y_labels(figure: &Figure, axis: &ScaledAxis, room: f64) -> Vec<Vec<String>> {
    axis.ticks
        .iter()
        .map(|tick| {
            if figure.y.categories.is_none() {
                return vec![cut(&tick.label, TEXT_SIZE, room)];
            }
            let mut lines = wrap(&tick.label, TEXT_SIZE, room);
            if lines.len() > 2 {
                let rest = lines.split_off(1).join(" ");
                lines.push(cut(&rest, TEXT_SIZE, room));
            }
            lines
        })
        .collect()
}

/// Draws frame, grid, labels and titles.
pub(crate) fn draw(
    out: &mut String,
    plot: &PlotArea,
    x_labels: &XLabels,
    y_labels: &[Vec<String>],
) {
    let mut paths = Paths {
        grid: String::new(),
        frame: format!(
            "M{} {}V{}H{}",
            coordinate(plot.left),
            coordinate(plot.top),
            coordinate(plot.bottom),
            coordinate(plot.right)
        ),
    };
    horizontal(out, plot, x_labels, &mut paths);
    vertical(out, plot, y_labels, &mut paths);
    let _ = writeln!(
        out,
        "<path class=\"g\" d=\"{}\"/>\n<path class=\"f\" d=\"{}\"/>",
        paths.grid, paths.frame
    );
    titles(out, plot, x_labels);
}

struct Paths {
    grid: String,
    frame: String,
}

fn horizontal(out: &mut String, plot: &PlotArea, x_labels: &XLabels, paths: &mut Paths) {
    let mut free_from = 2.0;
    let base = plot.bottom + TICK_GAP;
    for (index, tick) in plot.x.ticks.iter().enumerate() {
        let Some(x) = plot.x(tick.value) else {
            continue;
        };
        let named = match x_labels {
            XLabels::Ticks => {
                let half = width(&tick.label, TEXT_SIZE) / 2.0;
                // A label that would touch the previous one is omitted.
                let named = !tick.label.is_empty()
                    && x - half >= free_from
                    && x + half <= plot.figure_width - 2.0;
                if named {
                    free_from = x + half + 10.0;
                    text_element(
                        out,
                        ("n", TEXT_SIZE, "middle"),
                        (x, base + TEXT_SIZE),
                        &tick.label,
                    );
                }
                named
            }
            XLabels::Wrapped(names) => {
                let mut y = base;
                for line in names.get(index).into_iter().flatten() {
                    y += TEXT_SIZE;
                    text_element(out, ("n", TEXT_SIZE, "middle"), (x, y), line);
                    y += TEXT_SIZE * (LINE_HEIGHT - 1.0);
                }
                false
            }
            XLabels::Rotated(names, every) => {
                if index % every == 0 {
                    let _ = writeln!(
                        out,
                        "<text class=\"n\" font-size=\"{TEXT_SIZE}\" text-anchor=\"end\" transform=\"translate({} {}) rotate(-{ROTATION_DEGREES})\">{}</text>",
                        coordinate(x + 4.0),
                        coordinate(base + TEXT_SIZE * 0.6),
                        escaped(names.get(index).map_or("", String::as_str))
                    );
                }
                false
            }
        };
        let length = if named { 5.0 } else { 3.0 };
        if matches!(x_labels, XLabels::Ticks) {
            let (x, y) = (coordinate(x), coordinate(plot.bottom));
            let _ = write!(paths.frame, "M{x} {y}v{length}");
            if named {
                let _ = write!(paths.grid, "M{x} {}V{y}", coordinate(plot.top));
            }
        }
    }
}

fn vertical(out: &mut String, plot: &PlotArea, y_labels: &[Vec<String>], paths: &mut Paths) {
    let has_categories = plot.figure.y.categories.is_some();
    let mut last: Option<f64> = None;
    for (tick, lines) in plot.y.ticks.iter().zip(y_labels) {
        let Some(y) = plot.y(tick.value) else {
            continue;
        };
        let high = TEXT_SIZE * LINE_HEIGHT * lines.len() as f64;
        let free = last.is_none_or(|last| (y - last).abs() >= high);
        let named = !tick.label.is_empty() && free;
        if named {
            last = Some(y);
            let mut base =
                y - TEXT_SIZE * LINE_HEIGHT * (lines.len() as f64 - 1.0) / 2.0 + TEXT_SIZE * 0.35;
            for line in lines {
                text_element(
                    out,
                    ("n", TEXT_SIZE, "end"),
                    (plot.left - TICK_GAP, base),
                    line,
                );
                base += TEXT_SIZE * LINE_HEIGHT;
            }
        }
        if !has_categories {
            let length = if named { 5.0 } else { 3.0 };
            let (x, y) = (coordinate(plot.left), coordinate(y));
            let _ = write!(paths.frame, "M{x} {y}h-{length}");
            if named {
                let _ = write!(paths.grid, "M{x} {y}H{}", coordinate(plot.right));
            }
        }
    }
}

fn titles(out: &mut String, plot: &PlotArea, x_labels: &XLabels) {
    let figure = plot.figure;
    let middle = f64::midpoint(plot.left, plot.right);
    let name = cut(&figure.x.label, TEXT_SIZE, plot.right - plot.left);
    if !name.is_empty() {
        let y = plot.bottom + TICK_GAP + x_labels.height() + TEXT_SIZE * LINE_HEIGHT;
        text_element(out, ("m", TEXT_SIZE, "middle"), (middle, y), &name);
    }
    let name = cut(&figure.y.label, TEXT_SIZE, plot.bottom - plot.top);
    if !name.is_empty() {
        let _ = writeln!(
            out,
            "<text class=\"m\" font-size=\"{TEXT_SIZE}\" text-anchor=\"middle\" transform=\"translate({} {}) rotate(-90)\">{}</text>",
            coordinate(MARGIN + TEXT_SIZE * 0.6),
            coordinate(f64::midpoint(plot.top, plot.bottom)),
            escaped(&name)
        );
    }
}
