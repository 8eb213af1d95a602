//! The layers as drawn, and what they ask of the axes.

pub(super) mod area;
pub(super) mod bars;
mod boxes;
mod line;
mod points;
mod signs;

pub(super) use points::marker;

use super::axis::Ranged;
use super::labels::{Ink, Label};
use super::legend::AllSeries;
use super::text::{coordinate, escaped};
use super::{Bar, Figure, FiveNumbers, Layer};
use std::fmt::Write as _;

/// Where values are in the picture.
pub(super) struct Plane<'a> {
    pub(super) figure: &'a Figure,
    pub(super) wide: f64,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: Ranged,
    pub(super) y: Ranged,
}

impl Plane<'_> {
    /// Where a value of the horizontal axis is; nothing if it has no place there.
    pub(super) fn x(&self, value: f64) -> Option<f64> {
        let shown = self.figure.x.shows(value);
        shown.then(|| self.left + self.x.position(value) * (self.right - self.left))
    }

    /// Where a value of the vertical axis is; nothing if it has no place there.
    pub(super) fn y(&self, value: f64) -> Option<f64> {
        let high = self.bottom - self.top;
        self.figure.y.shows(value).then(|| {
            let part = self.y.position(value);
            if self.turned() {
                self.top + part * high
            } else {
                self.bottom - part * high
            }
        })
    }

    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.x(x)?, self.y(y)?))
    }

    /// Whether the places are one under the other, and values go to the right.
    fn turned(&self) -> bool {
        self.figure.y.categories.is_some()
    }

    /// Where a place is along its axis.
    fn along(&self, place: f64) -> Option<f64> {
        if self.turned() {
            self.y(place)
        } else {
            self.x(place)
        }
    }

    /// Where a value is along its axis.
    fn value(&self, value: f64) -> Option<f64> {
        if self.turned() {
            self.x(value)
        } else {
            self.y(value)
        }
    }

    /// Where zero is, or the end of an axis that has none.
    fn base(&self) -> f64 {
        let (axis, start) = if self.turned() {
            (&self.figure.x, self.left)
        } else {
            (&self.figure.y, self.bottom)
        };
        let inside = axis.shows(0.0);
        self.value(0.0).filter(|_| inside).unwrap_or(start)
    }

    /// A point of the picture from its coordinates along the two axes.
    fn point(&self, along: f64, value: f64) -> (f64, f64) {
        if self.turned() {
            (value, along)
        } else {
            (along, value)
        }
    }

    /// How far places are from one another, in pixels: those of an axis of categories, or the closest of these.
    fn spacing(&self, places: impl Iterator<Item = f64>) -> f64 {
        let (axis, ranged, length) = if self.turned() {
            (&self.figure.y, &self.y, self.bottom - self.top)
        } else {
            (&self.figure.x, &self.x, self.right - self.left)
        };
        if axis.categories.is_some() {
            return length / ranged.ticks.len().max(1) as f64;
        }
        let mut at: Vec<f64> = places.filter_map(|place| self.along(place)).collect();
        at.sort_unstable_by(f64::total_cmp);
        at.windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|step| *step > 0.5)
            .fold(length / 2.0, f64::min)
    }

    /// What a place is called, for tooltips.
    fn place_name(&self, place: f64) -> String {
        let axis = if self.turned() {
            &self.figure.y
        } else {
            &self.figure.x
        };
        match &axis.categories {
            Some(names) => names
                .get(place.max(0.0) as usize)
                .cloned()
                .unwrap_or_default(),
            None => axis.quantity.exact(place),
        }
    }

    /// A value in words, for tooltips.
    fn words(&self, value: f64) -> String {
        if self.turned() {
            self.figure.x.quantity.exact(value)
        } else {
            self.figure.y.quantity.exact(value)
        }
    }
}

/// What is drawn, and where.
pub(super) struct Canvas {
    pub(super) out: String,
    pub(super) ink: Ink,
    pub(super) labels: Vec<Label>,
}

impl Canvas {
    pub(super) fn over(plane: &Plane) -> Self {
        Self {
            out: String::new(),
            ink: Ink::over(plane),
            labels: Vec::new(),
        }
    }

    /// A path of a class, with a tooltip if there are words for it.
    fn path(&mut self, class: &str, path: &str, words: &str) {
        if path.is_empty() {
            return;
        }
        let _ = if words.is_empty() {
            writeln!(self.out, "<path class=\"{class}\" d=\"{path}\"/>")
        } else {
            writeln!(
                self.out,
                "<path class=\"{class}\" d=\"{path}\"><title>{}</title></path>",
                escaped(words)
            )
        };
    }
}

/// A point as part of a path.
fn pair((x, y): (f64, f64)) -> String {
    format!("{} {}", coordinate(x), coordinate(y))
}

/// A rectangle between two corners as a path.
fn rectangle(a: (f64, f64), b: (f64, f64)) -> String {
    format!(
        "M{}H{}V{}H{}z",
        pair(a),
        coordinate(b.0),
        coordinate(b.1),
        coordinate(a.0)
    )
}

/// The values the axes must hold.
#[derive(Default)]
pub(super) struct Extent {
    pub(super) xs: Vec<f64>,
    pub(super) ys: Vec<f64>,
    /// How many values have no place on their axis.
    pub(super) hidden: usize,
}

impl Extent {
    pub(super) fn of(figure: &Figure) -> Self {
        let mut extent = Self::default();
        for layer in &figure.layers {
            extent.add(figure, layer);
        }
        extent
    }

    fn add(&mut self, figure: &Figure, layer: &Layer) {
        match layer {
            Layer::Line { points, .. }
            | Layer::Step { points, .. }
            | Layer::Points { points, .. } => {
                for (x, y) in points {
                    self.point(figure, *x, &[*y]);
                }
            }
            Layer::Band { points, .. } => {
                for (x, low, high) in points {
                    self.point(figure, *x, &[*low, *high]);
                }
            }
            Layer::Stack { edges, parts } => area::extent(self, figure, edges, parts),
            Layer::Boxes { boxes, .. } => boxes::extent(self, figure, boxes),
            Layer::Bars { bars, .. } => bars::extent(self, figure, bars),
            Layer::Intervals { points, .. } => points::extent(self, figure, points),
            Layer::Event { at, .. } => self.point(figure, *at, &[]),
            Layer::Rule { at, .. } => self.value(figure, false, *at),
            Layer::Mark { at, .. } => self.point(figure, at.0, &[at.1]),
        }
    }

    /// A point with its values. One without values still takes its place: a hole at the end is a hole.
    fn point(&mut self, figure: &Figure, x: f64, ys: &[f64]) {
        if x.is_nan() {
            return;
        }
        let hole = ys.iter().any(|y| y.is_nan());
        let shown = figure.x.shows(x) && ys.iter().all(|y| figure.y.shows(*y));
        if figure.x.shows(x) {
            self.xs.push(x);
        }
        if shown {
            self.ys.extend_from_slice(ys);
        } else if !hole {
            self.hidden += 1;
        }
    }

    /// A value of the vertical axis, or of the horizontal one.
    fn value(&mut self, figure: &Figure, horizontal: bool, value: f64) {
        let (axis, values) = if horizontal {
            (&figure.x, &mut self.xs)
        } else {
            (&figure.y, &mut self.ys)
        };
        if axis.shows(value) {
            values.push(value);
        } else if !value.is_nan() {
            self.hidden += 1;
        }
    }
}

/// Whether a series has nothing to show in a layer.
pub(super) fn is_empty(layer: &Layer, series: &str) -> bool {
    match layer {
        Layer::Line { points, .. } | Layer::Step { points, .. } | Layer::Points { points, .. } => {
            points.iter().all(|(x, y)| x.is_nan() || y.is_nan())
        }
        Layer::Band { points, .. } => points
            .iter()
            .all(|(x, low, high)| x.is_nan() || low.is_nan() || high.is_nan()),
        Layer::Stack { parts, .. } => parts
            .iter()
            .filter(|(name, _)| name == series)
            .all(|(_, values)| values.iter().all(|value| value.is_nan())),
        Layer::Boxes { boxes, .. } => boxes.iter().all(FiveNumbers::is_missing),
        Layer::Bars { bars, .. } => bars
            .iter()
            .all(|bar| bar.as_ref().is_none_or(|bar| bar.value.is_nan())),
        Layer::Intervals { points, .. } => points.iter().all(|(x, y, _)| x.is_nan() || y.is_nan()),
        Layer::Event { .. } | Layer::Rule { .. } | Layer::Mark { .. } => true,
    }
}

/// Whether a dash stands somewhere for what is missing.
pub(super) fn has_missing(figure: &Figure, layer: &Layer) -> bool {
    let places = figure
        .x
        .categories
        .as_ref()
        .or(figure.y.categories.as_ref());
    let unknown = |bar: &Option<Bar>| bar.as_ref().is_none_or(|bar| bar.value.is_nan());
    match layer {
        Layer::Boxes { boxes, .. } => boxes.iter().any(FiveNumbers::is_missing),
        Layer::Bars { bars, .. } => {
            bars.iter().any(unknown) || places.is_some_and(|names| names.len() > bars.len())
        }
        Layer::Intervals { points, .. } => {
            let turned = figure.y.categories.is_some();
            let value = |(x, y, _): &(f64, f64, _)| if turned { *x } else { *y };
            places.is_some() && points.iter().any(|point| value(point).is_nan())
        }
        _ => false,
    }
}

/// Draws all layers, the first at the back.
pub(super) fn draw(canvas: &mut Canvas, plane: &Plane, series: &AllSeries) {
    let layers = &plane.figure.layers;
    for (nth, layer) in layers.iter().enumerate() {
        // Those of a kind stand side by side.
        let like = |other: &&Layer| std::mem::discriminant(*other) == std::mem::discriminant(layer);
        let lane = Lane {
            nth: layers.iter().take(nth).filter(like).count(),
            of: layers.iter().filter(like).count(),
        };
        match layer {
            Layer::Line { name, points } => {
                line::line(canvas, plane, (series.class(name), name), points);
            }
            Layer::Step { name, points } => {
                line::step(canvas, plane, (series.class(name), name), points);
            }
            Layer::Band { name, points } => {
                area::band(canvas, plane, (series.class(name), name), points);
            }
            Layer::Stack { edges, parts } => area::stack(canvas, plane, series, edges, parts),
            Layer::Points { name, points } => {
                points::points(canvas, plane, (series.class(name), name), points);
            }
            Layer::Boxes { name, boxes } => {
                boxes::boxes(canvas, plane, (series.class(name), name), lane, boxes);
            }
            Layer::Bars { name, bars } => {
                bars::bars(canvas, plane, (series.class(name), name), lane, bars);
            }
            Layer::Intervals { name, points } => {
                points::intervals(canvas, plane, (series.class(name), name), lane, points);
            }
            Layer::Event { at, label } => signs::event(canvas, plane, nth, *at, label),
            Layer::Rule { at, label } => signs::rule(canvas, plane, nth, *at, label),
            Layer::Mark { at, label } => signs::mark(canvas, plane, nth, *at, label),
        }
    }
}

/// Which of the layers of a kind one is.
#[derive(Clone, Copy)]
struct Lane {
    nth: usize,
    of: usize,
}

impl Lane {
    /// How far from the middle of a place this one stands, and how wide it may be, where all together take `room`.
    fn within(self, room: f64) -> (f64, f64) {
        let wide = room / self.of.max(1) as f64;
        ((self.nth as f64 + 0.5) * wide - room / 2.0, wide)
    }
}
