//! Points, and values with their intervals.

use super::bars::missing;
use super::{Canvas, Extent, Lane, Plane, pair};
use crate::text::coordinate;
use crate::{Figure, Known};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Up to so many points each tells its values.
const FEW: usize = 300;
/// From so many on points are dots, and those that hide one another are one.
const MANY: usize = 2000;

/// The marker of a series, as a path around a point.
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

pub(super) fn points(
    canvas: &mut Canvas,
    plane: &Plane,
    (class, name): (usize, &str),
    points: &[(f64, f64)],
) {
    let (mut path, mut seen) = (String::new(), HashSet::new());
    for (x, y) in points {
        let Some(at) = plane.at((*x, *y)) else {
            continue;
        };
        canvas.ink.dot(at);
        if points.len() > MANY {
            let cell = ((at.0 / 2.0) as i64, (at.1 / 2.0) as i64);
            if seen.insert(cell) {
                let _ = write!(path, "M{}h0", pair(at));
            }
        } else if points.len() > FEW {
            path.push_str(&marker(class, at.0, at.1));
        } else {
            let words = format!(
                "{name}: {}, {}",
                plane.figure.x.quantity.exact(*x),
                plane.figure.y.quantity.exact(*y)
            );
            canvas.path(&format!("p s{class}"), &marker(class, at.0, at.1), &words);
        }
    }
    let shape = if points.len() > MANY { "k" } else { "p" };
    canvas.path(&format!("{shape} s{class}"), &path, name);
}

/// What an interval layer asks of the axes.
pub(super) fn extent(extent: &mut Extent, figure: &Figure, points: &[Known]) {
    let turned = figure.y.categories.is_some();
    for (x, y, interval) in points {
        extent.point(figure, *x, &[*y]);
        if figure.x.shows(*x) && figure.y.shows(*y) {
            for end in interval.iter().flat_map(|(low, high)| [*low, *high]) {
                extent.value(figure, turned, end);
            }
        }
    }
}

pub(super) fn intervals(
    canvas: &mut Canvas,
    plane: &Plane,
    (class, name): (usize, &str),
    lane: Lane,
    points: &[Known],
) {
    // On an axis with a scale a point stands where it belongs.
    let placed = plane.figure.x.categories.is_some() || plane.turned();
    let aside = if placed {
        lane.within(plane.spacing(std::iter::empty()) * 0.5).0
    } else {
        0.0
    };
    for (x, y, interval) in points {
        let (place, value) = if plane.turned() { (*y, *x) } else { (*x, *y) };
        let Some(along) = plane.along(place).map(|along| along + aside) else {
            continue;
        };
        let Some(at) = plane.value(value) else {
            if placed {
                missing(canvas, plane, along, 5.0);
            }
            continue;
        };
        let mut words = format!(
            "{name}, {}: {}",
            plane.place_name(place),
            plane.words(value)
        );
        if let Some((low, high)) = interval {
            let ends = (plane.value(*low), plane.value(*high));
            let path = whisker(plane, along, at, ends, 4.0);
            canvas.path(&format!("c s{class}"), &path, "");
            let _ = write!(words, " ({} to {})", plane.words(*low), plane.words(*high));
            for end in [ends.0, ends.1].into_iter().flatten() {
                canvas
                    .ink
                    .line(plane.point(along, at), plane.point(along, end));
            }
        }
        let (x, y) = plane.point(along, at);
        canvas.ink.dot((x, y));
        canvas.path(&format!("p s{class}"), &marker(class, x, y), &words);
    }
}

/// A line from a value to the ends of its interval, as far as they are known, with caps of a half width.
pub(super) fn whisker(
    plane: &Plane,
    along: f64,
    at: f64,
    (low, high): (Option<f64>, Option<f64>),
    half: f64,
) -> String {
    let mut path = String::new();
    for end in [low, high].into_iter().flatten() {
        let (a, b) = (plane.point(along, at), plane.point(along, end));
        let (from, to) = (
            plane.point(along - half, end),
            plane.point(along + half, end),
        );
        let _ = write!(path, "M{}L{}M{}L{}", pair(a), pair(b), pair(from), pair(to));
    }
    path
}

/// A single sample: a small ring, smaller where only `room` is to either side.
pub(super) fn ring(canvas: &mut Canvas, class: &str, (x, y): (f64, f64), room: f64) {
    canvas.ink.dot((x, y));
    let _ = writeln!(
        canvas.out,
        "<circle class=\"{class}\" r=\"{}\" cx=\"{}\" cy=\"{}\"/>",
        coordinate((room * 0.3).clamp(1.0, 1.9)),
        coordinate(x),
        coordinate(y)
    );
}
