//! A line through points, some of which may be far off.

use caudal_stats::midpoint_median;

/// A line by the weighted median of the slopes between all pairs of points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LineFit {
    pub(crate) slope: f64,
    pub(crate) intercept: f64,
}

impl LineFit {
    /// The line through `points` (x, y), all finite; `None` when all have one x.
    ///
    /// A slope's weight is the distance of its points along x, because an error in y turns a short pair more than a long one.
    /// Sources: Theil, "A Rank-Invariant Method of Linear and Polynomial Regression Analysis", 1950; Sen, "Estimates of the
    /// Regression Coefficient Based on Kendall's Tau", 1968; the weights: Jaeckel, "Estimating Regression Coefficients by
    /// Minimizing the Dispersion of the Residuals", 1972.
    pub(crate) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let mut slopes: Vec<(f64, f64)> = Vec::with_capacity(points.len() * points.len() / 2);
        for (nth, (x, y)) in points.iter().enumerate() {
            for (later_x, later_y) in &points[nth + 1..] {
                let run = later_x - x;
                if run != 0.0 {
                    slopes.push(((later_y - y) / run, run.abs()));
                }
            }
        }
        let slope = weighted_median(slopes)?;
        let intercept = midpoint_median(points.iter().map(|(x, y)| y - slope * x).collect())?;
        Some(Self { slope, intercept })
    }

    /// The part of the variance of y that the line explains, from 0 to 1; `None` when y does not vary.
    pub(crate) fn r_squared(&self, points: &[(f64, f64)]) -> Option<f64> {
        let mean = points.iter().map(|(_, y)| y).sum::<f64>() / points.len() as f64;
        let total: f64 = points.iter().map(|(_, y)| (y - mean).powi(2)).sum();
        let left: f64 = points
            .iter()
            .map(|(x, y)| (y - self.intercept - self.slope * x).powi(2))
            .sum();
        (total > 0.0).then(|| (1.0 - left / total).max(0.0))
    }
}

/// The value at which half of the weight is reached, of (value, weight).
fn weighted_median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let half = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut reached = 0.0;
    for (value, weight) in &values {
        reached += weight;
        if reached >= half {
            return Some(*value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_of_ten_far_off_do_not_turn_the_line() {
        let mut points: Vec<(f64, f64)> = (0..10)
            .map(|x| (f64::from(x), 7.0 + 3.0 * f64::from(x)))
            .collect();
        points[2].1 += 1000.0;
        points[7].1 += 500.0;
        let line = LineFit::through(&points).unwrap();
        assert!((line.slope - 3.0).abs() < 1e-9 && (line.intercept - 7.0).abs() < 1e-9);
        assert!(line.r_squared(&points).unwrap() < 0.1);
    }

    #[test]
    fn points_above_one_another_have_no_line() {
        assert_eq!(LineFit::through(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(LineFit::through(&[]), None);
    }
}
