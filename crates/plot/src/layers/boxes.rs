//! Distributions as boxes.

use std::collections::HashSet;

use super::marks::{SideBySide, missing, ring, whisker};
use crate::axis::Scale;
use crate::canvas::Canvas;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::layer::{FiveNumbers, Layer};
use crate::plot_area::PlotArea;
use crate::svg::{pair, rectangle};

/// Maximum width of a box, in pixels.
const MAX_WIDTH: f64 = 40.0;

/// Adds the extent of boxes, with half a step beside the outer ones.
pub(super) fn extent(extent: &mut Extent, figure: &Figure, boxes: &[FiveNumbers]) {
    let categories_on_y = figure.y.categories.is_some();
    let axis = if categories_on_y {
        &figure.y
    } else {
        &figure.x
    };
    for one in boxes {
        extent.include_position(figure, one.at);
        if axis.shows(one.at) && !one.is_missing() {
            for value in [one.low, one.q1, one.median, one.q3, one.high] {
                extent.include_value(figure, value);
            }
            for value in &one.samples {
                extent.include_value(figure, *value);
            }
        }
    }
    if axis.categories.is_some() {
        return;
    }
    let log = axis.scale == Scale::Log;
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
    plot: &PlotArea,
    (class, name): (usize, &str),
    side_by_side: SideBySide,
    boxes: &[FiveNumbers],
) {
    let all_boxes = plot.figure.layers.iter().flat_map(|layer| match layer {
        Layer::Boxes { boxes, .. } => boxes.as_slice(),
        _ => &[],
    });
    let room = plot.spacing(all_boxes.map(|one| one.at)) * 0.76;
    let has_categories = plot.figure.x.categories.is_some() || plot.categories_on_y();
    // On an axis with a scale an offset falsifies the position, so it is kept small.
    let max_width = if has_categories {
        MAX_WIDTH * side_by_side.count as f64
    } else {
        MAX_WIDTH
    };
    let (offset, width) = side_by_side.offset_and_width(room.min(max_width));
    let half = (width * 0.84 / 2.0).max(1.0);
    for one in boxes {
        let Some(along) = plot.category_position(one.at).map(|along| along + offset) else {
            continue;
        };
        if one.is_missing() {
            missing(canvas, plot, along, half);
            continue;
        }
        let body = (
            plot.value_position(one.q1),
            plot.value_position(one.median),
            plot.value_position(one.q3),
        );
        let (Some(q1), Some(median), Some(q3)) = body else {
            missing(canvas, plot, along, half);
            continue;
        };
        draw_box(
            canvas,
            plot,
            (class, name),
            one,
            (along, half),
            [q1, median, q3],
        );
    }
}

/// Draws a box with its whiskers, its samples and its tooltip: `along` its axis, with half its width.
fn draw_box(
    canvas: &mut Canvas,
    plot: &PlotArea,
    (class, name): (usize, &str),
    one: &FiveNumbers,
    (along, half): (f64, f64),
    [q1, median, q3]: [f64; 3],
) {
    let tooltip = format!(
        "{name}, {}: median {}, half of all from {} to {}, whiskers from {} to {}",
        plot.category_name(one.at),
        plot.value_text(one.median),
        plot.value_text(one.q1),
        plot.value_text(one.q3),
        plot.value_text(one.low),
        plot.value_text(one.high)
    );
    let (a, b) = (plot.point(along - half, q1), plot.point(along + half, q3));
    let line = (
        plot.point(along - half, median),
        plot.point(along + half, median),
    );
    let whiskers = whisker(
        plot,
        along,
        q1,
        (plot.value_position(one.low), None),
        half / 2.0,
    ) + &whisker(
        plot,
        along,
        q3,
        (None, plot.value_position(one.high)),
        half / 2.0,
    );
    canvas.path(&format!("a s{class}"), &rectangle(a, b), &tooltip);
    canvas.path(&format!("c s{class}"), &(whiskers + &rectangle(a, b)), "");
    canvas.path(
        &format!("c2 s{class}"),
        &format!("M{}L{}", pair(line.0), pair(line.1)),
        "",
    );
    canvas.drawn.mark_line(a, b);
    for end in [one.low, one.high]
        .into_iter()
        .filter_map(|end| plot.value_position(end))
    {
        canvas
            .drawn
            .mark_line(plot.point(along, median), plot.point(along, end));
    }
    let mut seen = HashSet::new();
    for at in one
        .samples
        .iter()
        .filter_map(|single| plot.value_position(*single))
    {
        // Of samples at the same pixel one is enough.
        if seen.insert((at * 2.0) as i64) {
            ring(canvas, &format!("o s{class}"), plot.point(along, at), half);
        }
    }
}
