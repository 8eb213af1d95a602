//! Distributions as boxes.

use super::bars::missing;
use super::points::{ring, whisker};
use super::{Canvas, Extent, Lane, Plane, pair, rectangle};
use crate::{Figure, FiveNumbers, Layer};
use std::collections::HashSet;

/// The widest box.
const WIDEST: f64 = 40.0;

/// What boxes ask of the axes: half a place beside the outer ones too.
pub(super) fn extent(extent: &mut Extent, figure: &Figure, boxes: &[FiveNumbers]) {
    let turned = figure.y.categories.is_some();
    let axis = if turned { &figure.y } else { &figure.x };
    for one in boxes {
        extent.value(figure, !turned, one.at);
        if axis.shows(one.at) && !one.is_missing() {
            for value in [one.low, one.q1, one.median, one.q3, one.high] {
                extent.value(figure, turned, value);
            }
            for value in &one.singles {
                extent.value(figure, turned, *value);
            }
        }
    }
    if axis.categories.is_some() {
        return;
    }
    let log = axis.scale == crate::Scale::Log;
    let mut at: Vec<f64> = boxes
        .iter()
        .map(|one| one.at)
        .filter(|at| axis.shows(*at))
        .map(|at| if log { at.ln() } else { at })
        .collect();
    at.sort_unstable_by(f64::total_cmp);
    let closest = at
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .filter(|step| *step > 0.0)
        .fold(f64::INFINITY, f64::min);
    if let (Some(first), Some(last)) = (at.first(), at.last())
        && closest.is_finite()
    {
        for end in [first - closest / 2.0, last + closest / 2.0] {
            let end = if log { end.exp() } else { end };
            if axis.shows(end) {
                extent.xs.push(end);
            }
        }
    }
}

pub(super) fn boxes(
    canvas: &mut Canvas,
    plane: &Plane,
    (class, name): (usize, &str),
    lane: Lane,
    boxes: &[FiveNumbers],
) {
    let places = plane.figure.layers.iter().flat_map(|layer| match layer {
        Layer::Boxes { boxes, .. } => boxes.as_slice(),
        _ => &[],
    });
    let room = plane.spacing(places.map(|one| one.at)) * 0.76;
    let places = plane.figure.x.categories.is_some() || plane.turned();
    // On an axis with a scale a box aside stands where it does not belong: not far, then.
    let most = if places {
        WIDEST * lane.of as f64
    } else {
        WIDEST
    };
    let (aside, wide) = lane.within(room.min(most));
    let half = (wide * 0.84 / 2.0).max(1.0);
    for one in boxes {
        let Some(along) = plane.along(one.at).map(|along| along + aside) else {
            continue;
        };
        if one.is_missing() {
            missing(canvas, plane, along, half);
            continue;
        }
        let body = (
            plane.value(one.q1),
            plane.value(one.median),
            plane.value(one.q3),
        );
        let (Some(q1), Some(median), Some(q3)) = body else {
            missing(canvas, plane, along, half);
            continue;
        };
        let words = format!(
            "{name}, {}: median {}, half of all from {} to {}, whiskers from {} to {}",
            plane.place_name(one.at),
            plane.words(one.median),
            plane.words(one.q1),
            plane.words(one.q3),
            plane.words(one.low),
            plane.words(one.high)
        );
        let (a, b) = (plane.point(along - half, q1), plane.point(along + half, q3));
        let line = (
            plane.point(along - half, median),
            plane.point(along + half, median),
        );
        let whiskers = whisker(plane, along, q1, (plane.value(one.low), None), half / 2.0)
            + &whisker(plane, along, q3, (None, plane.value(one.high)), half / 2.0);
        canvas.path(&format!("a s{class}"), &rectangle(a, b), &words);
        canvas.path(&format!("c s{class}"), &(whiskers + &rectangle(a, b)), "");
        canvas.path(
            &format!("c2 s{class}"),
            &format!("M{}L{}", pair(line.0), pair(line.1)),
            "",
        );
        canvas.ink.line(a, b);
        for end in [one.low, one.high]
            .into_iter()
            .filter_map(|end| plane.value(end))
        {
            canvas
                .ink
                .line(plane.point(along, median), plane.point(along, end));
        }
        let mut seen = HashSet::new();
        for at in one.singles.iter().filter_map(|single| plane.value(*single)) {
            // Of those that hide one another one is enough.
            if seen.insert((at * 2.0) as i64) {
                ring(canvas, &format!("o s{class}"), plane.point(along, at), half);
            }
        }
    }
}
