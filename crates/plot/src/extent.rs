//! The extent of the data: the values that the axes must include.

use crate::figure::Figure;

/// The values that the axes must include.
#[derive(Default)]
pub(crate) struct Extent {
    pub(crate) xs: Vec<f64>,
    pub(crate) ys: Vec<f64>,
    /// The number of values without a position on their axis.
    pub(crate) hidden: usize,
}

impl Extent {
    /// Includes a point with its values. One without values still includes its x, so that a gap at the end shows.
    pub(crate) fn include_point(&mut self, figure: &Figure, x: f64, ys: &[f64]) {
        if x.is_nan() {
            return;
        }
        let missing = ys.iter().any(|y| y.is_nan());
        let shown = figure.x.shows(x) && ys.iter().all(|y| figure.y.shows(*y));
        if figure.x.shows(x) {
            self.xs.push(x);
        }
        if shown {
            self.ys.extend_from_slice(ys);
        } else if !missing {
            self.hidden += 1;
        }
    }

    /// Includes a value of the horizontal axis.
    pub(crate) fn include_x(&mut self, figure: &Figure, x: f64) {
        if figure.x.shows(x) {
            self.xs.push(x);
        } else if !x.is_nan() {
            self.hidden += 1;
        }
    }

    /// Includes a value of the vertical axis.
    pub(crate) fn include_y(&mut self, figure: &Figure, y: f64) {
        if figure.y.shows(y) {
            self.ys.push(y);
        } else if !y.is_nan() {
            self.hidden += 1;
        }
    }

    /// Includes a value on the axis of values: the vertical one, unless that has categories.
    pub(crate) fn include_value(&mut self, figure: &Figure, value: f64) {
        if figure.y.categories.is_some() {
            self.include_x(figure, value);
        } else {
            self.include_y(figure, value);
        }
    }

    /// Includes a position on the other axis than that of values.
    pub(crate) fn include_position(&mut self, figure: &Figure, position: f64) {
        if figure.y.categories.is_some() {
            self.include_y(figure, position);
        } else {
            self.include_x(figure, position);
        }
    }
}
