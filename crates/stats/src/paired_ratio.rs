//! The ratio of two quantities that were measured in pairs.

use crate::critical::two_sided_t;
use crate::estimate::{Estimate, IntervalMethod};
use crate::welford::Welford;

/// The ratio of two positive quantities from pairs of results, with its interval at `confidence`.
///
/// `exp(m ± t(n-1) · s / √n)` with the mean m and the standard deviation s of `ln(numerator / denominator)`: the mean is the geometric
/// mean of the ratios. Whatever a pair shares, such as the load of the machine at its time, cancels out, and the interval of the
/// reciprocal is the reciprocal of the interval. `None` for fewer than two pairs, for results that are not above zero, and for a
/// confidence outside 0 to 1.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<Estimate> {
    let logarithms: Vec<f64> = pairs
        .iter()
        .map(|&(numerator, denominator)| {
            let logarithm = (numerator / denominator).ln();
            (numerator > 0.0 && denominator > 0.0 && logarithm.is_finite()).then_some(logarithm)
        })
        .collect::<Option<_>>()?;
    let statistics: Welford = logarithms.iter().collect();
    let n = logarithms.len();
    let half_width =
        two_sided_t(confidence, n as f64 - 1.0)? * statistics.sd()? / (n as f64).sqrt();
    let mean = statistics.mean()?;
    let (low, high) = ((mean - half_width).exp(), (mean + half_width).exp());
    high.is_finite().then(|| Estimate {
        mean: mean.exp(),
        low,
        high,
        confidence,
        n: n as u64,
        method: IntervalMethod::PairedLogRatioT,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ratio_is_geometric_and_its_interval_symmetric_in_logarithms() {
        // ln: 0.693147, 0.693147, 1.386294, 0; mean ln 2, s = 0.565953, t(0.975, 3) = 3.182446.
        let pairs = [(2.0, 1.0), (6.0, 3.0), (4.0, 1.0), (5.0, 5.0)];
        let ratio = paired_ratio(&pairs, 0.95).unwrap();
        assert!((ratio.mean - 2.0).abs() < 1e-12, "{ratio:?}");
        assert_eq!(
            format!("{:.4} {:.4}", ratio.low, ratio.high),
            "0.8127 4.9219"
        );
        assert!((ratio.low * ratio.high - 4.0).abs() < 1e-9);
        assert_eq!(
            (ratio.n, ratio.method),
            (4, IntervalMethod::PairedLogRatioT)
        );
    }

    #[test]
    fn what_a_pair_shares_cancels_out() {
        // The machine was five times as slow in the second half.
        let pairs: Vec<(f64, f64)> = (0..10)
            .map(|nth| if nth < 5 { 1.0 } else { 5.0 })
            .map(|load| (1.5 * load, load))
            .collect();
        let ratio = paired_ratio(&pairs, 0.95).unwrap();
        assert!((ratio.low - 1.5).abs() < 1e-9 && (ratio.high - 1.5).abs() < 1e-9);
    }

    #[test]
    fn too_few_pairs_and_times_of_zero_have_no_ratio() {
        assert_eq!(paired_ratio(&[], 0.95), None);
        assert_eq!(paired_ratio(&[(1.0, 2.0)], 0.95), None);
        assert_eq!(paired_ratio(&[(1.0, 2.0), (0.0, 1.0)], 0.95), None);
        assert_eq!(paired_ratio(&[(1.0, 2.0), (1.0, 0.0)], 0.95), None);
        assert_eq!(paired_ratio(&[(1.0, 2.0), (-1.0, -2.0)], 0.95), None);
        assert_eq!(paired_ratio(&[(1.0, 2.0), (3.0, 2.0)], 1.0), None);
    }

    proptest! {
        #[test]
        fn the_reciprocal_has_the_reciprocal_interval(
            pairs in proptest::collection::vec((0.01..100.0_f64, 0.01..100.0_f64), 2..20),
        ) {
            let inverted: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let (ratio, inverse) = (paired_ratio(&pairs, 0.95).unwrap(), paired_ratio(&inverted, 0.95).unwrap());
            prop_assert!((ratio.low * inverse.high - 1.0).abs() < 1e-6);
            prop_assert!((ratio.mean * inverse.mean - 1.0).abs() < 1e-9);
        }

        #[test]
        fn no_pairs_make_it_panic(pairs: Vec<(f64, f64)>, confidence: f64) {
            let _ = paired_ratio(&pairs, confidence);
        }
    }
}
