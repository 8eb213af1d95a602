//! Bars by category.

use super::points::{ring, whisker};
use super::{Canvas, Extent, Lane, Plane, pair, rectangle};
use crate::text::escaped;
use crate::{Bar, Figure, Scale};
use std::fmt::Write as _;

/// The widest bar.
const WIDEST: f64 = 48.0;
/// Between two lines of a hatching, in pixels.
const HATCH: f64 = 6.0;

pub(super) fn extent(extent: &mut Extent, figure: &Figure, bars: &[Option<Bar>]) {
    let turned = figure.y.categories.is_some();
    let (places, values) = if turned {
        (&figure.y, &figure.x)
    } else {
        (&figure.x, &figure.y)
    };
    if values.shows(0.0) {
        extent.value(figure, turned, 0.0);
    }
    for (place, bar) in bars.iter().enumerate() {
        let Some(bar) = bar else { continue };
        if places.categories.is_none() {
            extent.value(figure, !turned, place as f64);
        } else if !places.shows(place as f64) {
            extent.hidden += 1;
            continue;
        }
        extent.value(figure, turned, bar.value);
        for end in bar.interval.iter().flat_map(|(low, high)| [*low, *high]) {
            extent.value(figure, turned, end);
        }
        for single in &bar.singles {
            extent.value(figure, turned, *single);
        }
    }
}

pub(super) fn bars(
    canvas: &mut Canvas,
    plane: &Plane,
    (class, name): (usize, &str),
    lane: Lane,
    bars: &[Option<Bar>],
) {
    let room = plane.spacing((0..bars.len()).map(|place| place as f64)) * 0.78;
    let (aside, wide) = lane.within(room.min(WIDEST * lane.of as f64));
    let half = (wide - 2.0).max(1.0) / 2.0;
    let axis = if plane.turned() {
        &plane.figure.x
    } else {
        &plane.figure.y
    };
    let base = plane.base();
    let places = plane
        .figure
        .x
        .categories
        .as_ref()
        .or(plane.figure.y.categories.as_ref());
    // What is missing at the end is missing too.
    for place in 0..places.map_or(bars.len(), Vec::len) {
        let Some(along) = plane.along(place as f64).map(|along| along + aside) else {
            continue;
        };
        let bar = bars.get(place).and_then(Option::as_ref);
        let Some((bar, at)) = bar.and_then(|bar| Some((bar, plane.value(bar.value)?))) else {
            missing(canvas, plane, along, half);
            continue;
        };
        let mut words = format!(
            "{name}, {}: {}",
            plane.place_name(place as f64),
            plane.words(bar.value)
        );
        if let Some((low, high)) = bar.interval {
            let _ = write!(words, " ({} to {})", plane.words(low), plane.words(high));
        }
        if axis.scale == Scale::Log {
            // Without a zero a bar would have any length: the value is a mark.
            let (a, b) = (
                plane.point(along - half, at - 1.5),
                plane.point(along + half, at + 1.5),
            );
            canvas.path(&format!("d s{class}"), &rectangle(a, b), &words);
        } else {
            let (a, b) = (
                plane.point(along - half, base),
                plane.point(along + half, at),
            );
            body(&mut canvas.out, class, a, b, &words);
        }
        canvas
            .ink
            .line(plane.point(along, base), plane.point(along, at));
        canvas
            .ink
            .line(plane.point(along - half, at), plane.point(along + half, at));
        let count = bar.singles.len() as f64;
        for (nth, single) in bar.singles.iter().enumerate() {
            let beside = ((nth as f64 + 0.5) / count - 0.5) * 1.4 * half;
            if let Some(at) = plane.value(*single) {
                ring(canvas, "o", plane.point(along + beside, at), half);
            }
        }
        if let Some((low, high)) = bar.interval {
            let ends = (plane.value(low), plane.value(high));
            let path = whisker(plane, along, at, ends, (half * 0.5).min(5.0));
            canvas.path("u", &path, "");
            canvas.path("c", &path, "");
            for end in [ends.0, ends.1].into_iter().flatten() {
                canvas
                    .ink
                    .line(plane.point(along, at), plane.point(along, end));
            }
        }
    }
}

/// The dash where something would stand that is not known.
pub(super) fn missing(canvas: &mut Canvas, plane: &Plane, along: f64, half: f64) {
    let half = half.min(5.0);
    let up = if plane.turned() { 7.0 } else { -7.0 };
    let at = plane.base() + up;
    let (a, b) = (plane.point(along - half, at), plane.point(along + half, at));
    let path = if plane.turned() {
        let (x, y) = plane.point(along, at);
        format!("M{}h10", pair((x - 3.0, y)))
    } else {
        format!("M{}L{}", pair(a), pair(b))
    };
    canvas.path("c m", &path, "no data");
}

/// A bar between two corners, filled and hatched as its series is.
pub(crate) fn body(out: &mut String, class: usize, a: (f64, f64), b: (f64, f64), words: &str) {
    let words = if words.is_empty() {
        String::new()
    } else {
        format!("<title>{}</title>", escaped(words))
    };
    let shape = rectangle(a, b);
    let fill = if class == 0 { "w" } else { "a" };
    let _ = write!(
        out,
        "<path class=\"{fill} s{class}\" d=\"{shape}\">{words}</path>"
    );
    if class > 0 {
        let hatching = hatching(class, a, b);
        if !hatching.is_empty() {
            let _ = write!(out, "<path class=\"x s{class}\" d=\"{hatching}\"/>");
        }
        let _ = write!(out, "<path class=\"c s{class}\" d=\"{shape}\"/>");
    }
    out.push('\n');
}

/// The hatching of a series within two corners; none for the first two.
fn hatching(class: usize, a: (f64, f64), b: (f64, f64)) -> String {
    let (left, right) = (a.0.min(b.0), a.0.max(b.0));
    let (top, bottom) = (a.1.min(b.1), a.1.max(b.1));
    let (rising, falling, lying, standing) = match class {
        2 => (true, false, false, false),
        3 => (false, true, false, false),
        4 => (false, false, true, false),
        5 => (false, false, false, true),
        6 => (true, true, false, false),
        7 => (false, false, true, true),
        _ => (false, false, false, false),
    };
    let mut path = String::new();
    // Multiples of the step within a range: hatchings go on from one bar to the next.
    let multiples = |low: f64, high: f64, step: f64| {
        let first = (low / step).ceil() as i64;
        let last = (high / step).floor() as i64;
        (first..=last).map(move |nth| nth as f64 * step)
    };
    let mut stroke = |from: (f64, f64), to: (f64, f64)| {
        let _ = write!(path, "M{}L{}", pair(from), pair(to));
    };
    let step = HATCH * std::f64::consts::SQRT_2;
    if rising {
        for sum in multiples(left + top, right + bottom, step) {
            let (from, to) = ((sum - bottom).max(left), (sum - top).min(right));
            stroke((from, sum - from), (to, sum - to));
        }
    }
    if falling {
        for difference in multiples(left - bottom, right - top, step) {
            let from = (difference + top).max(left);
            let to = (difference + bottom).min(right);
            stroke((from, from - difference), (to, to - difference));
        }
    }
    if lying {
        for y in multiples(top, bottom, HATCH) {
            stroke((left, y), (right, y));
        }
    }
    if standing {
        for x in multiples(left, right, HATCH) {
            stroke((x, top), (x, bottom));
        }
    }
    path
}
