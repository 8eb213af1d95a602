//! Bars by category.

use std::fmt::Write as _;

use super::marks::{SideBySide, missing, ring, whisker};
use crate::axis::Scale;
use crate::canvas::Canvas;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::layer::Bar;
use crate::plot_area::PlotArea;
use crate::svg::{escaped, pair, rectangle};

/// Maximum width of a bar, in pixels.
const MAX_WIDTH: f64 = 48.0;

/// The distance between the lines of a hatching, in pixels.
const HATCH_STEP: f64 = 6.0;

pub(super) fn extent(extent: &mut Extent, figure: &Figure, bars: &[Option<Bar>]) {
    let categories_on_y = figure.y.categories.is_some();
    let (categories, values) = if categories_on_y {
        (&figure.y, &figure.x)
    } else {
        (&figure.x, &figure.y)
    };
    if values.shows(0.0) {
        extent.include_value(figure, 0.0);
    }
    for (category, bar) in bars.iter().enumerate() {
        let Some(bar) = bar else { continue };
        if categories.categories.is_none() {
            extent.include_position(figure, category as f64);
        } else if !categories.shows(category as f64) {
            extent.hidden += 1;
            continue;
        }
        extent.include_value(figure, bar.value);
        for end in bar.interval.iter().flat_map(|(low, high)| [*low, *high]) {
            extent.include_value(figure, end);
        }
        for single in &bar.samples {
            extent.include_value(figure, *single);
        }
    }
}

pub(super) fn bars(
    canvas: &mut Canvas,
    plot: &PlotArea,
    (class, name): (usize, &str),
    side_by_side: SideBySide,
    bars: &[Option<Bar>],
) {
    let room = plot.spacing((0..bars.len()).map(|category| category as f64)) * 0.78;
    let (offset, width) =
        side_by_side.offset_and_width(room.min(MAX_WIDTH * side_by_side.count as f64));
    let half = (width - 2.0).max(1.0) / 2.0;
    let categories = plot
        .figure
        .x
        .categories
        .as_ref()
        .or(plot.figure.y.categories.as_ref());
    // Bars missing at the end are missing too.
    for category in 0..categories.map_or(bars.len(), Vec::len) {
        let Some(along) = plot
            .category_position(category as f64)
            .map(|along| along + offset)
        else {
            continue;
        };
        let bar = bars.get(category).and_then(Option::as_ref);
        let Some((bar, at)) = bar.and_then(|bar| Some((bar, plot.value_position(bar.value)?)))
        else {
            missing(canvas, plot, along, half);
            continue;
        };
        draw_bar(
            canvas,
            plot,
            (class, name),
            (category, bar),
            (along, at, half),
        );
    }
}

/// Draws a bar with its tooltip, its samples and its interval: `along` its axis and `at` its value, with half its width.
fn draw_bar(
    canvas: &mut Canvas,
    plot: &PlotArea,
    (class, name): (usize, &str),
    (category, bar): (usize, &Bar),
    (along, at, half): (f64, f64, f64),
) {
    let axis = if plot.categories_on_y() {
        &plot.figure.x
    } else {
        &plot.figure.y
    };
    let base = plot.baseline();
    let mut tooltip = format!(
        "{name}, {}: {}",
        plot.category_name(category as f64),
        plot.value_text(bar.value)
    );
    if let Some((low, high)) = bar.interval {
        let _ = write!(
            tooltip,
            " ({} to {})",
            plot.value_text(low),
            plot.value_text(high)
        );
    }
    if axis.scale == Scale::Log {
        // A bar on an axis without zero would have an arbitrary length, so the value is drawn as a mark.
        let (a, b) = (
            plot.point(along - half, at - 1.5),
            plot.point(along + half, at + 1.5),
        );
        canvas.path(&format!("d s{class}"), &rectangle(a, b), &tooltip);
    } else {
        let (a, b) = (plot.point(along - half, base), plot.point(along + half, at));
        body(&mut canvas.out, class, a, b, &tooltip);
    }
    canvas
        .drawn
        .mark_line(plot.point(along, base), plot.point(along, at));
    canvas
        .drawn
        .mark_line(plot.point(along - half, at), plot.point(along + half, at));
    let count = bar.samples.len() as f64;
    for (index, single) in bar.samples.iter().enumerate() {
        let offset = ((index as f64 + 0.5) / count - 0.5) * 1.4 * half;
        if let Some(at) = plot.value_position(*single) {
            ring(canvas, "o", plot.point(along + offset, at), half);
        }
    }
    if let Some((low, high)) = bar.interval {
        let ends = (plot.value_position(low), plot.value_position(high));
        let path = whisker(plot, along, at, ends, (half * 0.5).min(5.0));
        canvas.path("u", &path, "");
        canvas.path("c", &path, "");
        for end in [ends.0, ends.1].into_iter().flatten() {
            canvas
                .drawn
                .mark_line(plot.point(along, at), plot.point(along, end));
        }
    }
}

/// Draws a bar between two corners, filled and hatched as its series is.
pub(crate) fn body(out: &mut String, class: usize, a: (f64, f64), b: (f64, f64), tooltip: &str) {
    let tooltip = if tooltip.is_empty() {
        String::new()
    } else {
        format!("<title>{}</title>", escaped(tooltip))
    };
    let shape = rectangle(a, b);
    let fill = if class == 0 { "w" } else { "a" };
    let _ = write!(
        out,
        "<path class=\"{fill} s{class}\" d=\"{shape}\">{tooltip}</path>"
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

/// The hatching of a series between two corners; none for the first two.
fn hatching(class: usize, a: (f64, f64), b: (f64, f64)) -> String {
    let (left, right) = (a.0.min(b.0), a.0.max(b.0));
    let (top, bottom) = (a.1.min(b.1), a.1.max(b.1));
    let (rising, falling, horizontal, vertical) = match class {
        2 => (true, false, false, false),
        3 => (false, true, false, false),
        4 => (false, false, true, false),
        5 => (false, false, false, true),
        6 => (true, true, false, false),
        7 => (false, false, true, true),
        _ => (false, false, false, false),
    };
    let mut path = String::new();
    // Multiples of the step within a range, so that hatchings continue from one bar to the next.
    let multiples = |low: f64, high: f64, step: f64| {
        let first = (low / step).ceil() as i64;
        let last = (high / step).floor() as i64;
        (first..=last).map(move |index| index as f64 * step)
    };
    let mut stroke = |from: (f64, f64), to: (f64, f64)| {
        let _ = write!(path, "M{}L{}", pair(from), pair(to));
    };
    let step = HATCH_STEP * std::f64::consts::SQRT_2;
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
    if horizontal {
        for y in multiples(top, bottom, HATCH_STEP) {
            stroke((left, y), (right, y));
        }
    }
    if vertical {
        for x in multiples(left, right, HATCH_STEP) {
            stroke((x, top), (x, bottom));
        }
    }
    path
}
