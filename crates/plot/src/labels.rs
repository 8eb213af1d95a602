//! The labels of annotations: placed where they cover the least of the drawing, and never over one another.

use std::collections::BTreeSet;

use crate::layout::{LINE_HEIGHT, TEXT_SIZE};
use crate::plot_area::PlotArea;
use crate::svg::text_element;
use crate::text::{cut, width};

/// The side of a cell of the grid, in pixels.
const CELL: f64 = 6.0;

/// The grid of cells that are drawn on.
pub(crate) struct DrawnCells {
    left: f64,
    top: f64,
    columns: usize,
    cells: Vec<bool>,
}

impl DrawnCells {
    pub(crate) fn new(plot: &PlotArea) -> Self {
        let columns = ((plot.right - plot.left) / CELL).ceil().max(1.0) as usize;
        let rows = ((plot.bottom - plot.top) / CELL).ceil().max(1.0) as usize;
        Self {
            left: plot.left,
            top: plot.top,
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

    /// Marks the cell of a point.
    pub(crate) fn mark_point(&mut self, at: (f64, f64)) {
        if let Some(cell) = self.cell(at) {
            self.cells[cell] = true;
        }
    }

    /// Marks the cells of a line between two points.
    pub(crate) fn mark_line(&mut self, a: (f64, f64), b: (f64, f64)) {
        let steps = ((b.0 - a.0).abs().max((b.1 - a.1).abs()) / CELL * 2.0)
            .ceil()
            .clamp(1.0, 4096.0);
        for step in 0..=steps as usize {
            let part = step as f64 / steps;
            self.mark_point((a.0 + (b.0 - a.0) * part, a.1 + (b.1 - a.1) * part));
        }
    }

    /// The number of cells of a rectangle that are drawn on.
    fn count_in(&self, (left, top, right, bottom): (f64, f64, f64, f64)) -> usize {
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

/// A label with candidate positions from the best to the worst: anchor and baseline of the text. A label without a
/// position that covers little enough goes into the legend.
pub(crate) struct Label {
    /// The index of the layer it belongs to.
    pub(crate) layer: usize,
    pub(crate) text: String,
    /// The maximum number of drawn cells it may cover.
    pub(crate) max_covered: usize,
    pub(crate) positions: Vec<(&'static str, f64, f64)>,
}

impl Label {
    /// A label in the middle of the plot.
    pub(crate) fn centred(plot: &PlotArea, text: &str) -> Self {
        let x = f64::midpoint(plot.left, plot.right) - width(text, TEXT_SIZE) / 2.0;
        Self {
            layer: usize::MAX,
            text: text.to_owned(),
            max_covered: usize::MAX,
            positions: vec![("start", x, f64::midpoint(plot.top, plot.bottom))],
        }
    }

    /// A label beside a vertical line, on either side, as high as possible.
    pub(crate) fn for_event(layer: usize, plot: &PlotArea, x: f64, text: &str) -> Self {
        let room = (plot.right - x).max(x - plot.left) - 10.0;
        let rows = ((plot.bottom - plot.top) / (TEXT_SIZE * LINE_HEIGHT)) as usize;
        Self {
            layer,
            text: cut(text, TEXT_SIZE, room),
            max_covered: 16,
            positions: (0..rows.clamp(1, 64))
                .map(|row| plot.top + TEXT_SIZE * (1.0 + row as f64 * LINE_HEIGHT))
                .flat_map(|y| [("start", x + 5.0, y), ("end", x - 5.0, y)])
                .collect(),
        }
    }

    /// A label above or below a horizontal line, as far right as possible.
    pub(crate) fn for_rule(layer: usize, plot: &PlotArea, y: f64, text: &str) -> Self {
        let wide = plot.right - plot.left;
        let text = cut(text, TEXT_SIZE, wide - 12.0);
        let text_width = width(&text, TEXT_SIZE);
        let (over, under) = (y - 4.0, y + TEXT_SIZE);
        Self {
            layer,
            text,
            max_covered: 7,
            positions: [1.0, 0.0, 0.75, 0.5, 0.25]
                .iter()
                .map(|part| plot.left + 6.0 + (wide - 12.0 - text_width) * part)
                .flat_map(|x| [("start", x, over), ("start", x, under)])
                .collect(),
        }
    }

    /// A label around a point.
    pub(crate) fn for_mark(layer: usize, plot: &PlotArea, (x, y): (f64, f64), text: &str) -> Self {
        let room = (plot.right - x).max(x - plot.left) - 12.0;
        let near = [6.0, 18.0, 32.0];
        Self {
            layer,
            text: cut(text, TEXT_SIZE, room),
            max_covered: 16,
            positions: near
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

/// Writes the labels, each where it covers the least, except those in `in_legend`; returns the layers of labels without a position.
pub(crate) fn write(
    out: &mut String,
    plot: &PlotArea,
    drawn: &DrawnCells,
    labels: &[Label],
    in_legend: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let mut occupied: Vec<(f64, f64, f64, f64)> = Vec::new();
    let mut unplaced = BTreeSet::new();
    let is_shown =
        |label: &&Label| !label.text.trim().is_empty() && !in_legend.contains(&label.layer);
    for label in labels.iter().filter(is_shown) {
        let text_width = width(&label.text, TEXT_SIZE);
        let best = label
            .positions
            .iter()
            .enumerate()
            .filter_map(|(index, (anchor, x, y))| {
                let left = if *anchor == "start" {
                    *x
                } else {
                    x - text_width
                };
                let bounds = (
                    left,
                    y - TEXT_SIZE * 0.85,
                    left + text_width,
                    y + TEXT_SIZE * 0.25,
                );
                let inside = bounds.0 >= plot.left
                    && bounds.2 <= plot.right
                    && bounds.1 >= plot.top - 15.0
                    && bounds.3 <= plot.bottom;
                let free = occupied.iter().all(|other| {
                    bounds.2 + 4.0 <= other.0
                        || other.2 + 4.0 <= bounds.0
                        || bounds.3 <= other.1
                        || other.3 <= bounds.1
                });
                let covered = drawn.count_in(bounds);
                (inside && free && covered <= label.max_covered).then_some((
                    4 * covered + index,
                    bounds,
                    (*anchor, *x, *y),
                ))
            })
            .min_by_key(|(cost, ..)| *cost);
        if let Some((_, bounds, (anchor, x, y))) = best {
            occupied.push(bounds);
            text_element(out, ("h", TEXT_SIZE, anchor), (x, y), &label.text);
        } else {
            unplaced.insert(label.layer);
        }
    }
    unplaced
}
