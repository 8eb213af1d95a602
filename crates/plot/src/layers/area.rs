//! Areas: bands between two values, and stacked parts of a whole.

use std::fmt::Write as _;

use super::line::{polyline, thinned};
use crate::canvas::Canvas;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::plot_area::PlotArea;
use crate::series::SeriesSet;
use crate::svg::{coordinate, pair, rectangle};

pub(super) fn band(
    canvas: &mut Canvas,
    plot: &PlotArea,
    (class, name): (usize, &str),
    points: &[(f64, f64, f64)],
) {
    let placed = points.iter().map(|(x, low, high)| {
        let (low, high) = (plot.y(*low)?, plot.y(*high)?);
        Some((plot.x(*x)?, low.max(high), low.min(high)))
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

/// The cumulative heights of the parts in each interval, from zero; `None` where a part is missing or negative.
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
        extent.include_x(figure, *edge);
    }
    if figure.y.shows(0.0) {
        extent.ys.push(0.0);
    }
    for total in heights(edges, parts)
        .iter()
        .flatten()
        .filter_map(|slot| slot.last())
    {
        extent.include_y(figure, *total);
    }
    let negative = parts
        .iter()
        .flat_map(|(_, values)| values)
        .filter(|value| **value < 0.0);
    extent.hidden += negative.count();
}

pub(super) fn stack(
    canvas: &mut Canvas,
    plot: &PlotArea,
    series: &SeriesSet,
    edges: &[f64],
    parts: &[(String, Vec<f64>)],
) {
    let heights = heights(edges, parts);
    // Runs of adjacent intervals without missing parts, as positions.
    let mut runs: Vec<Vec<(f64, f64, &Vec<f64>)>> = vec![Vec::new()];
    for (slot, heights) in heights.iter().enumerate() {
        let ends = (plot.x(edges[slot]), plot.x(edges[slot + 1]));
        let shown = heights
            .as_ref()
            .filter(|heights| heights.iter().skip(1).all(|one| one.abs() < 1e300));
        match (ends, shown, runs.last_mut()) {
            ((Some(from), Some(to)), Some(heights), Some(run)) => run.push((from, to, heights)),
            _ => runs.push(Vec::new()),
        }
    }
    let base = plot.baseline();
    let line = |run: &[(f64, f64, &Vec<f64>)], part: usize| -> Vec<(f64, f64)> {
        run.iter()
            .flat_map(|(from, to, heights)| {
                let y = plot.y(heights[part]).unwrap_or(base);
                [(*from, y), (*to, y)]
            })
            .collect()
    };
    for (part, (name, _)) in parts.iter().enumerate() {
        let class = series.class(name);
        let (mut area, mut edge) = (String::new(), String::new());
        for run in &runs {
            let (lower, upper) = (line(run, part), line(run, part + 1));
            area.push_str(&between(&upper, &lower));
            // A part of zero height has no edge.
            let is_visible = |slot: &(f64, f64, &Vec<f64>)| slot.2[part + 1] > slot.2[part];
            for stretch in run.chunk_by(|a, b| is_visible(a) == is_visible(b)) {
                if stretch.first().is_some_and(is_visible) {
                    let upper = thinned(&line(stretch, part + 1));
                    edge.push_str(&polyline(&upper));
                    for ends in upper.windows(2) {
                        canvas.drawn.mark_line(ends[0], ends[1]);
                    }
                }
            }
        }
        canvas.path(&format!("y s{class}"), &area, name);
        canvas.path(&format!("l s{class}"), &edge, "");
    }
}

/// Draws the sample of a part in the legend.
pub(crate) fn sample(out: &mut String, class: usize, a: (f64, f64), b: (f64, f64)) {
    let _ = writeln!(
        out,
        "<path class=\"y s{class}\" d=\"{}\"/><path class=\"l s{class}\" d=\"M{}H{}\"/>",
        rectangle(a, b),
        pair(a),
        coordinate(b.0)
    );
}
