//! The axes: frame, grid, ticks and their labels, names of categories, titles.

use super::Figure;
use super::axis::Ranged;
use super::draw::{LINE_HEIGHT, MARGIN, TEXT_SIZE, text};
use super::layers::Plane;
use super::text::{coordinate, cut, escaped, width, words, wrap};
use std::fmt::Write as _;

/// Between the plot and its tick labels.
pub(super) const TICK_GAP: f64 = 8.0;
/// How far names of categories slant that have no room to lie: 35 degrees.
const SLANT: f64 = 35.0;
/// The longest slanted name.
const SLANTED: f64 = 150.0;

/// The labels of the horizontal axis.
pub(super) enum Below {
    /// Numbers, each with the place it needs.
    Ticks,
    /// Names in lines under their places.
    Lying(Vec<Vec<String>>),
    /// Names aslant, of every so many places one.
    Slanted(Vec<String>, usize),
}

impl Below {
    /// How the labels of an axis fit between `left` and `right`.
    pub(super) fn fit(figure: &Figure, axis: &Ranged, left: f64, right: f64) -> Self {
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
            return Self::Lying(lines);
        }
        let angle = SLANT.to_radians();
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
                    ((x - 10.0) / angle.cos()).min(SLANTED),
                )
            })
            .collect();
        Self::Slanted(texts, every)
    }

    /// How much height the labels take.
    pub(super) fn height(&self) -> f64 {
        match self {
            Self::Ticks => TEXT_SIZE,
            Self::Lying(names) => {
                let most = names.iter().map(Vec::len).max().unwrap_or(1).max(1);
                TEXT_SIZE * (1.0 + LINE_HEIGHT * (most - 1) as f64)
            }
            Self::Slanted(names, _) => {
                let longest = names.iter().map(|name| width(name, TEXT_SIZE));
                longest.fold(0.0, f64::max) * SLANT.to_radians().sin() + TEXT_SIZE
            }
        }
    }
}

/// The labels of the vertical axis, in lines of at most `room`.
pub(super) fn beside(figure: &Figure, axis: &Ranged, room: f64) -> Vec<Vec<String>> {
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
pub(super) fn draw(out: &mut String, plane: &Plane, below: &Below, beside: &[Vec<String>]) {
    let mut paths = Paths {
        grid: String::new(),
        frame: format!(
            "M{} {}V{}H{}",
            coordinate(plane.left),
            coordinate(plane.top),
            coordinate(plane.bottom),
            coordinate(plane.right)
        ),
    };
    horizontal(out, plane, below, &mut paths);
    vertical(out, plane, beside, &mut paths);
    let _ = writeln!(
        out,
        "<path class=\"g\" d=\"{}\"/>\n<path class=\"f\" d=\"{}\"/>",
        paths.grid, paths.frame
    );
    titles(out, plane, below);
}

struct Paths {
    grid: String,
    frame: String,
}

fn horizontal(out: &mut String, plane: &Plane, below: &Below, paths: &mut Paths) {
    let mut free_from = 2.0;
    let base = plane.bottom + TICK_GAP;
    for (nth, tick) in plane.x.ticks.iter().enumerate() {
        let Some(x) = plane.x(tick.value) else {
            continue;
        };
        let named = match below {
            Below::Ticks => {
                let half = width(&tick.label, TEXT_SIZE) / 2.0;
                // A label that would touch the one before gives way.
                let named =
                    !tick.label.is_empty() && x - half >= free_from && x + half <= plane.wide - 2.0;
                if named {
                    free_from = x + half + 10.0;
                    text(
                        out,
                        ("n", TEXT_SIZE, "middle"),
                        (x, base + TEXT_SIZE),
                        &tick.label,
                    );
                }
                named
            }
            Below::Lying(names) => {
                let mut y = base;
                for line in names.get(nth).into_iter().flatten() {
                    y += TEXT_SIZE;
                    text(out, ("n", TEXT_SIZE, "middle"), (x, y), line);
                    y += TEXT_SIZE * (LINE_HEIGHT - 1.0);
                }
                false
            }
            Below::Slanted(names, every) => {
                if nth % every == 0 {
                    let _ = writeln!(
                        out,
                        "<text class=\"n\" font-size=\"{TEXT_SIZE}\" text-anchor=\"end\" transform=\"translate({} {}) rotate(-{SLANT})\">{}</text>",
                        coordinate(x + 4.0),
                        coordinate(base + TEXT_SIZE * 0.6),
                        escaped(names.get(nth).map_or("", String::as_str))
                    );
                }
                false
            }
        };
        let length = if named { 5.0 } else { 3.0 };
        if matches!(below, Below::Ticks) {
            let (x, y) = (coordinate(x), coordinate(plane.bottom));
            let _ = write!(paths.frame, "M{x} {y}v{length}");
            if named {
                let _ = write!(paths.grid, "M{x} {}V{y}", coordinate(plane.top));
            }
        }
    }
}

fn vertical(out: &mut String, plane: &Plane, beside: &[Vec<String>], paths: &mut Paths) {
    let places = plane.figure.y.categories.is_some();
    let mut last: Option<f64> = None;
    for (tick, lines) in plane.y.ticks.iter().zip(beside) {
        let Some(y) = plane.y(tick.value) else {
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
                text(
                    out,
                    ("n", TEXT_SIZE, "end"),
                    (plane.left - TICK_GAP, base),
                    line,
                );
                base += TEXT_SIZE * LINE_HEIGHT;
            }
        }
        if !places {
            let length = if named { 5.0 } else { 3.0 };
            let (x, y) = (coordinate(plane.left), coordinate(y));
            let _ = write!(paths.frame, "M{x} {y}h-{length}");
            if named {
                let _ = write!(paths.grid, "M{x} {y}H{}", coordinate(plane.right));
            }
        }
    }
}

fn titles(out: &mut String, plane: &Plane, below: &Below) {
    let figure = plane.figure;
    let middle = f64::midpoint(plane.left, plane.right);
    let name = cut(&figure.x.label, TEXT_SIZE, plane.right - plane.left);
    if !name.is_empty() {
        let y = plane.bottom + TICK_GAP + below.height() + TEXT_SIZE * LINE_HEIGHT;
        text(out, ("m", TEXT_SIZE, "middle"), (middle, y), &name);
    }
    let name = cut(&figure.y.label, TEXT_SIZE, plane.bottom - plane.top);
    if !name.is_empty() {
        let _ = writeln!(
            out,
            "<text class=\"m\" font-size=\"{TEXT_SIZE}\" text-anchor=\"middle\" transform=\"translate({} {}) rotate(-90)\">{}</text>",
            coordinate(MARGIN + TEXT_SIZE * 0.6),
            coordinate(f64::midpoint(plane.top, plane.bottom)),
            escaped(&name)
        );
    }
}
