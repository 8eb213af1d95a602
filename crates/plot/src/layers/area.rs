//! Areas: bands between two values, and parts of a whole upon one another.

use super::line::{polyline, thinned};
use super::{Canvas, Extent, Plane, pair, rectangle};
use crate::Figure;
use crate::legend::AllSeries;
use crate::text::coordinate;
use std::fmt::Write as _;

pub(super) fn band(
    canvas: &mut Canvas,
    plane: &Plane,
    (class, name): (usize, &str),
    points: &[(f64, f64, f64)],
) {
    let placed = points.iter().map(|(x, low, high)| {
        let (low, high) = (plane.y(*low)?, plane.y(*high)?);
        Some((plane.x(*x)?, low.max(high), low.min(high)))
    });
    let mut runs: Vec<Vec<(f64, f64, f64)>> = vec![Vec::new()];
    for point in placed {
        match (point, runs.last_mut()) {
            (Some(point), Some(run)) => run.push(point),
            (None, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    let mut path = String::new();
    for run in &runs {
        if let [(x, low, high)] = run.as_slice() {
            path.push_str(&rectangle((x - 2.0, *low), (x + 2.0, *high)));
            continue;
        }
        let low: Vec<_> = run.iter().map(|(x, low, _)| (*x, *low)).collect();
        let high: Vec<_> = run.iter().map(|(x, _, high)| (*x, *high)).collect();
        path.push_str(&between(&high, &low));
    }
    canvas.path(&format!("a s{class}"), &path, name);
}

/// The area between two lines in the same order.
fn between(upper: &[(f64, f64)], lower: &[(f64, f64)]) -> String {
    if upper.is_empty() {
        return String::new();
    }
    let mut path = polyline(&thinned(upper));
    for point in thinned(lower).iter().rev() {
        path.push('L');
        path.push_str(&pair(*point));
    }
    path.push('z');
    path
}

/// How far the parts reach: for each interval the heights of the edges between them, from zero; `None` where a part is
/// not known or no part of a whole.
fn heights(edges: &[f64], parts: &[(String, Vec<f64>)]) -> Vec<Option<Vec<f64>>> {
    (0..edges.len().saturating_sub(1))
        .map(|slot| {
            let mut heights = vec![0.0];
            let mut sum = 0.0;
            for (_, values) in parts {
                let value = values.get(slot).copied().unwrap_or(f64::NAN);
                if value.is_nan() || value < 0.0 {
                    return None;
                }
                sum += value;
                heights.push(sum);
            }
            Some(heights)
        })
        .collect()
}

pub(super) fn extent(
    extent: &mut Extent,
    figure: &Figure,
    edges: &[f64],
    parts: &[(String, Vec<f64>)],
) {
    for edge in edges {
        extent.value(figure, true, *edge);
    }
    if figure.y.shows(0.0) {
        extent.ys.push(0.0);
    }
    for total in heights(edges, parts)
        .iter()
        .flatten()
        .filter_map(|slot| slot.last())
    {
        extent.value(figure, false, *total);
    }
    let negative = parts
        .iter()
        .flat_map(|(_, values)| values)
        .filter(|value| **value < 0.0);
    extent.hidden += negative.count();
}

pub(super) fn stack(
    canvas: &mut Canvas,
    plane: &Plane,
    series: &AllSeries,
    edges: &[f64],
    parts: &[(String, Vec<f64>)],
) {
    let heights = heights(edges, parts);
    // Intervals next to one another that have all their parts, as positions.
    let mut runs: Vec<Vec<(f64, f64, &Vec<f64>)>> = vec![Vec::new()];
    for (slot, heights) in heights.iter().enumerate() {
        let ends = (plane.x(edges[slot]), plane.x(edges[slot + 1]));
        let shown = heights
            .as_ref()
            .filter(|heights| heights.iter().skip(1).all(|one| one.abs() < 1e300));
        match (ends, shown, runs.last_mut()) {
            ((Some(from), Some(to)), Some(heights), Some(run)) => run.push((from, to, heights)),
            _ => runs.push(Vec::new()),
        }
    }
    let base = plane.base();
    let line = |run: &[(f64, f64, &Vec<f64>)], nth: usize| -> Vec<(f64, f64)> {
        run.iter()
            .flat_map(|(from, to, heights)| {
                let y = plane.y(heights[nth]).unwrap_or(base);
                [(*from, y), (*to, y)]
            })
            .collect()
    };
    for (nth, (name, _)) in parts.iter().enumerate() {
        let class = series.class(name);
        let (mut area, mut edge) = (String::new(), String::new());
        for run in &runs {
            let (lower, upper) = (line(run, nth), line(run, nth + 1));
            area.push_str(&between(&upper, &lower));
            // A part that is nothing has no edge.
            let thick = |slot: &(f64, f64, &Vec<f64>)| slot.2[nth + 1] > slot.2[nth];
            for some in run.chunk_by(|a, b| thick(a) == thick(b)) {
                if some.first().is_some_and(thick) {
                    let upper = thinned(&line(some, nth + 1));
                    edge.push_str(&polyline(&upper));
                    for ends in upper.windows(2) {
                        canvas.ink.line(ends[0], ends[1]);
                    }
                }
            }
        }
        canvas.path(&format!("y s{class}"), &area, name);
        canvas.path(&format!("l s{class}"), &edge, "");
    }
}

/// A part of a stack in the legend.
pub(crate) fn sample(out: &mut String, class: usize, a: (f64, f64), b: (f64, f64)) {
    let _ = writeln!(
        out,
        "<path class=\"y s{class}\" d=\"{}\"/><path class=\"l s{class}\" d=\"M{}H{}\"/>",
        rectangle(a, b),
        pair(a),
        coordinate(b.0)
    );
}
