//! Where labels go that belong to places in the plot: where least is drawn already, and never upon one another.

use super::draw::{LINE_HEIGHT, TEXT_SIZE, text};
use super::layers::Plane;
use super::text::{cut, width};
use std::collections::BTreeSet;

/// The side of a cell of the grid that remembers where something is drawn.
const CELL: f64 = 6.0;

/// Where something is drawn.
pub(super) struct Ink {
    left: f64,
    top: f64,
    columns: usize,
    cells: Vec<bool>,
}

impl Ink {
    pub(super) fn over(plane: &Plane) -> Self {
        let columns = ((plane.right - plane.left) / CELL).ceil().max(1.0) as usize;
        let rows = ((plane.bottom - plane.top) / CELL).ceil().max(1.0) as usize;
        Self {
            left: plane.left,
            top: plane.top,
            columns,
            cells: vec![false; columns * rows],
        }
    }

    fn cell(&self, (x, y): (f64, f64)) -> Option<usize> {
        let (column, row) = (
            ((x - self.left) / CELL).floor(),
            ((y - self.top) / CELL).floor(),
        );
        let inside = column >= 0.0 && row >= 0.0 && (column as usize) < self.columns;
        let cell = (row as usize) * self.columns + column as usize;
        (inside && cell < self.cells.len()).then_some(cell)
    }

    /// Something stands at a point.
    pub(super) fn dot(&mut self, at: (f64, f64)) {
        if let Some(cell) = self.cell(at) {
            self.cells[cell] = true;
        }
    }

    /// A line goes from one point to another.
    pub(super) fn line(&mut self, a: (f64, f64), b: (f64, f64)) {
        let steps = ((b.0 - a.0).abs().max((b.1 - a.1).abs()) / CELL * 2.0)
            .ceil()
            .clamp(1.0, 4096.0);
        for step in 0..=steps as usize {
            let part = step as f64 / steps;
            self.dot((a.0 + (b.0 - a.0) * part, a.1 + (b.1 - a.1) * part));
        }
    }

    /// How many cells of a box are drawn upon.
    fn under(&self, (left, top, right, bottom): (f64, f64, f64, f64)) -> usize {
        let mut count = 0;
        let mut y = top;
        while y < bottom + CELL {
            let mut x = left;
            while x < right + CELL {
                let here = self.cell((x.min(right), y.min(bottom)));
                count += usize::from(here.is_some_and(|cell| self.cells[cell]));
                x += CELL;
            }
            y += CELL;
        }
        count
    }
}

/// A label, and places for it from the best to the worst: anchor, and where the text's baseline is. One that finds none
/// where it hides little enough goes into the legend.
pub(super) struct Label {
    /// The number of the layer it belongs to.
    pub(super) of: usize,
    pub(super) words: String,
    /// How many drawn cells it may cover.
    pub(super) covers: usize,
    pub(super) places: Vec<(&'static str, f64, f64)>,
}

impl Label {
    /// In the middle of the plot.
    pub(super) fn in_the_middle(plane: &Plane, words: &str) -> Self {
        let x = f64::midpoint(plane.left, plane.right) - width(words, TEXT_SIZE) / 2.0;
        Self {
            of: usize::MAX,
            words: words.to_owned(),
            covers: usize::MAX,
            places: vec![("start", x, f64::midpoint(plane.top, plane.bottom))],
        }
    }

    /// Beside a vertical line, on either side, as high as may be.
    pub(super) fn of_event(of: usize, plane: &Plane, x: f64, words: &str) -> Self {
        let room = (plane.right - x).max(x - plane.left) - 10.0;
        let rows = ((plane.bottom - plane.top) / (TEXT_SIZE * LINE_HEIGHT)) as usize;
        Self {
            of,
            words: cut(words, TEXT_SIZE, room),
            covers: 16,
            places: (0..rows.clamp(1, 64))
                .map(|row| plane.top + TEXT_SIZE * (1.0 + row as f64 * LINE_HEIGHT))
                .flat_map(|y| [("start", x + 5.0, y), ("end", x - 5.0, y)])
                .collect(),
        }
    }

    /// Over or under a horizontal line, as far right as may be.
    pub(super) fn of_rule(of: usize, plane: &Plane, y: f64, words: &str) -> Self {
        let wide = plane.right - plane.left;
        let words = cut(words, TEXT_SIZE, wide - 12.0);
        let takes = width(&words, TEXT_SIZE);
        let (over, under) = (y - 4.0, y + TEXT_SIZE);
        Self {
            of,
            words,
            covers: 7,
            places: [1.0, 0.0, 0.75, 0.5, 0.25]
                .iter()
                .map(|part| plane.left + 6.0 + (wide - 12.0 - takes) * part)
                .flat_map(|x| [("start", x, over), ("start", x, under)])
                .collect(),
        }
    }

    /// Around a point.
    pub(super) fn of_mark(of: usize, plane: &Plane, (x, y): (f64, f64), words: &str) -> Self {
        let room = (plane.right - x).max(x - plane.left) - 12.0;
        let near = [6.0, 18.0, 32.0];
        Self {
            of,
            words: cut(words, TEXT_SIZE, room),
            covers: 16,
            places: near
                .iter()
                .flat_map(|far| {
                    let (up, down) = (y - far + 2.0, y + far + TEXT_SIZE * 0.6);
                    [
                        ("start", x + far + 3.0, y + TEXT_SIZE * 0.35),
                        ("end", x - far - 3.0, y + TEXT_SIZE * 0.35),
                        ("start", x + 8.0, up),
                        ("start", x + 8.0, down),
                        ("end", x - 8.0, up),
                        ("end", x - 8.0, down),
                    ]
                })
                .collect(),
        }
    }
}

/// Writes the labels, each where it hides least, those of `aside` left out; the layers of those without a good place.
pub(super) fn write(
    out: &mut String,
    plane: &Plane,
    ink: &Ink,
    labels: &[Label],
    aside: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let mut taken: Vec<(f64, f64, f64, f64)> = Vec::new();
    let mut without = BTreeSet::new();
    let some = |label: &&Label| !label.words.trim().is_empty() && !aside.contains(&label.of);
    for label in labels.iter().filter(some) {
        let takes = width(&label.words, TEXT_SIZE);
        let best = label
            .places
            .iter()
            .enumerate()
            .filter_map(|(nth, (anchor, x, y))| {
                let left = if *anchor == "start" { *x } else { x - takes };
                let place = (
                    left,
                    y - TEXT_SIZE * 0.85,
                    left + takes,
                    y + TEXT_SIZE * 0.25,
                );
                let inside = place.0 >= plane.left
                    && place.2 <= plane.right
                    && place.1 >= plane.top - 15.0
                    && place.3 <= plane.bottom;
                let free = taken.iter().all(|other| {
                    place.2 + 4.0 <= other.0
                        || other.2 + 4.0 <= place.0
                        || place.3 <= other.1
                        || other.3 <= place.1
                });
                let under = ink.under(place);
                (inside && free && under <= label.covers).then_some((
                    4 * under + nth,
                    place,
                    (*anchor, *x, *y),
                ))
            })
            .min_by_key(|(cost, ..)| *cost);
        if let Some((_, place, (anchor, x, y))) = best {
            taken.push(place);
            text(out, ("h", TEXT_SIZE, anchor), (x, y), &label.words);
        } else {
            without.insert(label.of);
        }
    }
    without
}
