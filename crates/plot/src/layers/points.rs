//! Points, and values with their intervals.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::marks::{SideBySide, marker, missing, whisker};
use crate::canvas::Canvas;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::layer::IntervalPoint;
use crate::plot_area::PlotArea;
use crate::svg::pair;

/// Maximum number of points with a tooltip each.
const MAX_TOOLTIPS: usize = 300;

/// Maximum number of points drawn as markers; more are dots, with one of those that overlap.
const MAX_MARKERS: usize = 2000;

pub(super) fn points(
    canvas: &mut Canvas,
    plot: &PlotArea,
    (class, name): (usize, &str),
    points: &[(f64, f64)],
) {
    let (mut path, mut seen) = (String::new(), HashSet::new());
    for (x, y) in points {
        let Some(at) = plot.at((*x, *y)) else {
            continue;
        };
        canvas.drawn.mark_point(at);
        if points.len() > MAX_MARKERS {
            let cell = ((at.0 / 2.0) as i64, (at.1 / 2.0) as i64);
            if seen.insert(cell) {
                let _ = write!(path, "M{}h0", pair(at));
            }
        } else if points.len() > MAX_TOOLTIPS {
            path.push_str(&marker(class, at.0, at.1));
        } else {
            let tooltip = format!(
                "{name}: {}, {}",
                plot.figure.x.quantity.exact(*x),
                plot.figure.y.quantity.exact(*y)
            );
            canvas.path(&format!("p s{class}"), &marker(class, at.0, at.1), &tooltip);
        }
    }
    let shape = if points.len() > MAX_MARKERS { "k" } else { "p" };
    canvas.path(&format!("{shape} s{class}"), &path, name);
}

/// Adds the extent of values with intervals.
pub(super) fn extent(extent: &mut Extent, figure: &Figure, points: &[IntervalPoint]) {
    for (x, y, interval) in points {
        extent.include_point(figure, *x, &[*y]);
        if figure.x.shows(*x) && figure.y.shows(*y) {
            for end in interval.iter().flat_map(|(low, high)| [*low, *high]) {
                extent.include_value(figure, end);
            }
        }
    }
}

pub(super) fn intervals(
    canvas: &mut Canvas,
    plot: &PlotArea,
    (class, name): (usize, &str),
    side_by_side: SideBySide,
    points: &[IntervalPoint],
) {
    // On an axis with a scale points keep their exact position.
    let has_categories = plot.figure.x.categories.is_some() || plot.categories_on_y();
    let offset = if has_categories {
        side_by_side
            .offset_and_width(plot.spacing(std::iter::empty()) * 0.5)
            .0
    } else {
        0.0
    };
    for (x, y, interval) in points {
        let (category, value) = if plot.categories_on_y() {
            (*y, *x)
        } else {
            (*x, *y)
        };
        let Some(along) = plot.category_position(category).map(|along| along + offset) else {
            continue;
        };
        let Some(at) = plot.value_position(value) else {
            if has_categories {
                missing(canvas, plot, along, 5.0);
            }
            continue;
        };
        let mut tooltip = format!(
            "{name}, {}: {}",
            plot.category_name(category),
            plot.value_text(value)
        );
        if let Some((low, high)) = interval {
            let ends = (plot.value_position(*low), plot.value_position(*high));
            let path = whisker(plot, along, at, ends, 4.0);
            canvas.path(&format!("c s{class}"), &path, "");
            let _ = write!(
                tooltip,
                " ({} to {})",
                plot.value_text(*low),
                plot.value_text(*high)
            );
            for end in [ends.0, ends.1].into_iter().flatten() {
                canvas
                    .drawn
                    .mark_line(plot.point(along, at), plot.point(along, end));
            }
        }
        let (x, y) = plot.point(along, at);
        canvas.drawn.mark_point((x, y));
        canvas.path(&format!("p s{class}"), &marker(class, x, y), &tooltip);
    }
}
