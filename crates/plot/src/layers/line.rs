//! Lines through points, and lines in steps.

use super::{Canvas, Plane, pair};
use crate::text::coordinate;
use std::fmt::Write as _;

/// From so many points on a line is thinned.
const MANY: usize = 2000;

pub(super) fn line(
    canvas: &mut Canvas,
    plane: &Plane,
    series: (usize, &str),
    points: &[(f64, f64)],
) {
    let mut runs: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for point in points.iter().map(|point| plane.at(*point)) {
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
    plane: &Plane,
    series: (usize, &str),
    points: &[(f64, f64)],
) {
    let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut run: Vec<(f64, f64)> = Vec::new();
    for (nth, (x, y)) in points.iter().enumerate() {
        let at = plane.x(*x);
        // The value before holds up to here.
        if let (Some(x), Some((_, before))) = (at, run.last().copied()) {
            run.push((x, before));
        }
        let last = nth + 1 == points.len() && nth > 0;
        match (at, plane.y(*y)) {
            // The last point ends a line; by itself it is none.
            (Some(_), Some(_)) if last && run.is_empty() => {}
            (Some(x), Some(y)) => run.push((x, y)),
            _ => runs.push(std::mem::take(&mut run)),
        }
    }
    runs.push(run);
    stroke(canvas, series, &runs);
}

/// Runs of points as one path; a run of one point is a dot.
fn stroke(canvas: &mut Canvas, (class, name): (usize, &str), runs: &[Vec<(f64, f64)>]) {
    let mut path = String::new();
    for run in runs {
        if let [(x, y)] = run.as_slice() {
            canvas.ink.dot((*x, *y));
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
            canvas.ink.line(ends[0], ends[1]);
        }
        path.push_str(&polyline(&run));
    }
    canvas.path(&format!("l s{class}"), &path, name);
}

/// Points joined by lines, without repeats.
pub(super) fn polyline(run: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let mut before = String::new();
    for (nth, point) in run.iter().enumerate() {
        let here = pair(*point);
        if here != before {
            path.push(if nth == 0 { 'M' } else { 'L' });
            path.push_str(&here);
            before = here;
        }
    }
    path
}

/// Of many points in one column of pixels the first, the least, the greatest and the last.
pub(super) fn thinned(run: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if run.len() < MANY {
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
