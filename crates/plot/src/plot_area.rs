//! The area of the plot: the positions of values in the figure.

use crate::axis::ScaledAxis;
use crate::figure::Figure;

/// The area of the plot, with its axes.
pub(crate) struct PlotArea<'a> {
    pub(crate) figure: &'a Figure,
    pub(crate) figure_width: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) x: ScaledAxis,
    pub(crate) y: ScaledAxis,
}

impl PlotArea<'_> {
    /// The position of a value of the horizontal axis; `None` if it has none.
    pub(crate) fn x(&self, value: f64) -> Option<f64> {
        let shown = self.figure.x.shows(value);
        shown.then(|| self.left + self.x.position(value) * (self.right - self.left))
    }

    /// The position of a value of the vertical axis; `None` if it has none.
    pub(crate) fn y(&self, value: f64) -> Option<f64> {
        let high = self.bottom - self.top;
        self.figure.y.shows(value).then(|| {
            let part = self.y.position(value);
            if self.categories_on_y() {
                self.top + part * high
            } else {
                self.bottom - part * high
            }
        })
    }

    pub(crate) fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.x(x)?, self.y(y)?))
    }

    /// `true` when the categories are on the vertical axis, and values extend to the right.
    pub(crate) fn categories_on_y(&self) -> bool {
        self.figure.y.categories.is_some()
    }

    /// The position of a category along its axis.
    pub(crate) fn category_position(&self, category: f64) -> Option<f64> {
        if self.categories_on_y() {
            self.y(category)
        } else {
            self.x(category)
        }
    }

    /// The position of a value along the axis of values.
    pub(crate) fn value_position(&self, value: f64) -> Option<f64> {
        if self.categories_on_y() {
            self.x(value)
        } else {
            self.y(value)
        }
    }

    /// The position of zero, or the end of an axis without zero.
    pub(crate) fn baseline(&self) -> f64 {
        let (axis, start) = if self.categories_on_y() {
            (&self.figure.x, self.left)
        } else {
            (&self.figure.y, self.bottom)
        };
        let inside = axis.shows(0.0);
        self.value_position(0.0).filter(|_| inside).unwrap_or(start)
    }

    /// A point of the figure from its positions along the two axes.
    pub(crate) fn point(&self, along: f64, value: f64) -> (f64, f64) {
        if self.categories_on_y() {
            (value, along)
        } else {
            (along, value)
        }
    }

    /// The distance between categories in pixels: of an axis of categories, otherwise the smallest between `positions`.
    pub(crate) fn spacing(&self, positions: impl Iterator<Item = f64>) -> f64 {
        let (axis, scaled, length) = if self.categories_on_y() {
            (&self.figure.y, &self.y, self.bottom - self.top)
        } else {
            (&self.figure.x, &self.x, self.right - self.left)
        };
        if axis.categories.is_some() {
            return length / scaled.ticks.len().max(1) as f64;
        }
        let mut at: Vec<f64> = positions
            .filter_map(|position| self.category_position(position))
            .collect();
        at.sort_unstable_by(f64::total_cmp);
        at.windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|step| *step > 0.5)
            .fold(length / 2.0, f64::min)
    }

    /// The name of a category, for tooltips.
    pub(crate) fn category_name(&self, category: f64) -> String {
        let axis = if self.categories_on_y() {
            &self.figure.y
        } else {
            &self.figure.x
        };
        match &axis.categories {
            Some(names) => names
                .get(category.max(0.0) as usize)
                .cloned()
                .unwrap_or_default(),
            None => axis.quantity.exact(category),
        }
    }

    /// The text of a value, for tooltips.
    pub(crate) fn value_text(&self, value: f64) -> String {
        if self.categories_on_y() {
            self.figure.x.quantity.exact(value)
        } else {
            self.figure.y.quantity.exact(value)
        }
    }
}
