//! Lines and points with a name of their own: events, values to compare with, marks.

use super::{Canvas, Plane, pair};
use crate::labels::Label;
use crate::text::coordinate;
use std::fmt::Write as _;

pub(super) fn event(canvas: &mut Canvas, plane: &Plane, of: usize, at: f64, label: &str) {
    let Some(x) = plane.x(at) else { return };
    let (from, to) = ((x, plane.top), (x, plane.bottom));
    canvas.path("v", &format!("M{}L{}", pair(from), pair(to)), label);
    canvas.ink.line(from, to);
    canvas.labels.push(Label::of_event(of, plane, x, label));
}

pub(super) fn rule(canvas: &mut Canvas, plane: &Plane, of: usize, at: f64, label: &str) {
    let Some(y) = plane.y(at) else { return };
    let (from, to) = ((plane.left, y), (plane.right, y));
    canvas.path("v", &format!("M{}L{}", pair(from), pair(to)), label);
    canvas.ink.line(from, to);
    canvas.labels.push(Label::of_rule(of, plane, y, label));
}

pub(super) fn mark(canvas: &mut Canvas, plane: &Plane, of: usize, at: (f64, f64), label: &str) {
    let Some((x, y)) = plane.at(at) else { return };
    let _ = writeln!(
        canvas.out,
        "<circle class=\"d\" r=\"3.5\" cx=\"{}\" cy=\"{}\"/>",
        coordinate(x),
        coordinate(y)
    );
    canvas.ink.dot((x, y));
    canvas.labels.push(Label::of_mark(of, plane, (x, y), label));
}
