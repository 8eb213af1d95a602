//! Lines through points, and step lines.

use std::fmt::Write as _;

use crate::canvas::Canvas;
use crate::plot_area::PlotArea;
use crate::svg::{coordinate, pair};

/// Maximum points of a line that is not thinned.
const MIN_THINNED: usize = 2000;

pub(super) fn line(
    canvas: &mut Canvas,
    plot: &PlotArea,
    series: (usize, &str),
    points: &[(f64, f64)],
) {
    let mut runs: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for point in points.iter().map(|point| plot.at(*point)) {
        match (point, runs.last_mut()) {
            (Some(point), Some(run)) => run.push(point),
            (None, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    stroke(canvas, series, &runs);
}

pub(super) fn step(
    canvas: &mut Canvas,
    plot: &PlotArea,
    series: (usize, &str),
    points: &[(f64, f64)],
) {
    let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut run: Vec<(f64, f64)> = Vec::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let at = plot.x(*x);
        // The previous value holds up to here.
        if let (Some(x), Some((_, previous))) = (at, run.last().copied()) {
            run.push((x, previous));
        }
        let last = index + 1 == points.len() && index > 0;
        match (at, plot.y(*y)) {
            // The last point ends a line; on its own it is not a line.
            (Some(_), Some(_)) if last && run.is_empty() => {}
            (Some(x), Some(y)) => run.push((x, y)),
            _ => runs.push(std::mem::take(&mut run)),
        }
    }
    runs.push(run);
    stroke(canvas, series, &runs);
}

/// Draws runs of points as one path; a run of one point is a dot.
fn stroke(canvas: &mut Canvas, (class, name): (usize, &str), runs: &[Vec<(f64, f64)>]) {
    let mut path = String::new();
    for run in runs {
        if let [(x, y)] = run.as_slice() {
            canvas.drawn.mark_point((*x, *y));
            let _ = writeln!(
                canvas.out,
                "<circle class=\"d s{class}\" r=\"2.5\" cx=\"{}\" cy=\"{}\"/>",
                coordinate(*x),
                coordinate(*y)
            );
            continue;
        }
        let run = thinned(run);
        for ends in run.windows(2) {
            canvas.drawn.mark_line(ends[0], ends[1]);
        }
        path.push_str(&polyline(&run));
    }
    canvas.path(&format!("l s{class}"), &path, name);
}

/// The path of points joined by lines, without repeated points.
pub(super) fn polyline(run: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut previous = String::new();
    for (index, point) in run.iter().enumerate() {
        let here = pair(*point);
        if here != previous {
            path.push(if index == 0 { 'M' } else { 'L' });
            path.push_str(&here);
            previous = here;
        }
    }
    path
}

/// Thins many points: of those in one column of pixels it keeps the first, the lowest, the highest and the last.
pub(super) fn thinned(run: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if run.len() < MIN_THINNED {
        return run.to_vec();
    }
    let mut kept = Vec::new();
    for column in run.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let mut picked: Vec<usize> = vec![0, column.len() - 1];
        let by = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
        picked.extend((0..column.len()).min_by(by));
        picked.extend((0..column.len()).max_by(by));
        picked.sort_unstable();
        picked.dedup();
        kept.extend(picked.into_iter().map(|at| column[at]));
    }
    kept
}
