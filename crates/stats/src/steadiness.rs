//! Measures of how steady a series is.

use crate::welford::Welford;

/// The standard deviation as a fraction of the mean's magnitude; `None` for fewer than two values or a zero mean.
#[must_use]
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let seen: Welford = values.iter().collect();
    let variation = seen.sd()? / seen.mean()?.abs();
    variation.is_finite().then_some(variation)
}

/// The correlation of two series of equal length about zero: 1 when they are proportional.
///
/// `Σxy / √(Σx² Σy²)`. It is insensitive; prefer
/// [`max_relative_residual`]. `None` for unequal lengths, empty or all-zero series.
#[must_use]
pub fn uncentred_correlation(xs: &[f64], ys: &[f64]) -> Option<f64> {
    if xs.len() != ys.len() {
        return None;
    }
    let products: f64 = xs.iter().zip(ys).map(|(x, y)| x * y).sum();
    let (x2, y2): (f64, f64) = (
        xs.iter().map(|x| x * x).sum(),
        ys.iter().map(|y| y * y).sum(),
    );
    let correlation = products / (x2.sqrt() * y2.sqrt());
    correlation.is_finite().then_some(correlation)
}

/// The largest deviation of cumulative work from a straight line between its first and last point, as a fraction of all work.
///
/// `at` holds times in any unit, `work` the amounts done by then; both grow. 0 is perfectly steady; 0.25 means that at
/// some time a quarter of the work was done too early or too late. `None` for fewer than two points, unequal lengths,
/// or when no time passed or no work was done.
#[must_use]
pub fn max_relative_residual(at: &[f64], work: &[f64]) -> Option<f64> {
    let (&start, &end) = (at.first()?, at.last()?);
    let (&before, &after) = (work.first()?, work.last()?);
    let grew = end > start && after > before;
    if at.len() != work.len() || !grew {
        return None;
    }
    at.iter().zip(work).try_fold(0.0_f64, |max, (at, work)| {
        let expected = (at - start) / (end - start);
        let done = (work - before) / (after - before);
        let residual = (done - expected).abs();
        residual.is_finite().then(|| max.max(residual))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const X: [f64; 12] = [
        94.1, 94.3, 94.0, 93.2, 92.8, 93.0, 94.4, 94.6, 94.5, 93.9, 93.7, 93.8,
    ];

    #[test]
    fn residuals_show_unsteadiness_that_correlation_hides() {
        let at = [1.0, 2.0, 3.0, 4.0];
        let equal = uncentred_correlation(&at, &[100.0, 200.0, 300.0, 400.0]).unwrap();
        assert!((equal - 1.0).abs() < 1e-12);
        let uneven = uncentred_correlation(&at, &[100.0, 100.0, 200.0, 400.0]).unwrap();
        assert_eq!(format!("{uneven:.5}"), "0.97312");
        let at = [0.0, 1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            max_relative_residual(&at, &[0.0, 100.0, 200.0, 300.0, 400.0]),
            Some(0.0)
        );
        assert_eq!(
            max_relative_residual(&at, &[0.0, 100.0, 200.0, 400.0, 800.0]),
            Some(0.25)
        );
        assert_eq!(max_relative_residual(&[0.0, 0.0], &[0.0, 1.0]), None);
        assert_eq!(max_relative_residual(&[0.0, 1.0], &[0.0]), None);
        assert_eq!(uncentred_correlation(&[1.0], &[]), None);
        assert_eq!(uncentred_correlation(&[0.0], &[0.0]), None);
    }

    #[test]
    fn the_coefficient_of_variation_is_standard_deviation_over_mean() {
        assert_eq!(
            format!("{:.6}", coefficient_of_variation(&X).unwrap()),
            "0.006303"
        );
        assert_eq!(coefficient_of_variation(&[0.0, 0.0]), None);
        assert_eq!(coefficient_of_variation(&[1.0]), None);
    }

    proptest! {
        #[test]
        fn no_series_makes_a_statistic_panic(values: Vec<f64>) {
            let _ = (coefficient_of_variation(&values), uncentred_correlation(&values, &values));
            let _ = max_relative_residual(&values, &values);
        }
    }
}
