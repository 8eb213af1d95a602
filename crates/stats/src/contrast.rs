//! A comparison of two sides of several runs each: difference, significance, equivalence and drift.
//!
//! Sides that cannot be compared give a reason ([`NotComparable`]) instead of a result.

use serde::{Deserialize, Serialize};

use crate::critical::two_sided_t;
use crate::drift::{Drift, TimedValue};
use crate::estimate::Estimate;
use crate::mean::{MIN_TRIALS_OF_INTERVAL, mean_of_trials};
use crate::special::student_two_sided;
use crate::two_sample::{MannWhitney, Welch, hodges_lehmann, holm, mann_whitney, welch};
use crate::welford::Welford;

/// Maximum standard deviation that counts as rounding error, as a fraction of the mean.
const MAX_ROUNDING_ERROR: f64 = 1e-12;

/// The summary of the results of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SideSummary {
    /// The number of results.
    pub n: u64,
    /// The mean, with an interval where there are several results.
    pub mean: Estimate,
    /// The standard deviation; `None` for a single result.
    pub sd: Option<f64>,
    /// The smallest result.
    pub min: f64,
    /// The largest result.
    pub max: f64,
}

impl SideSummary {
    /// Summarises the results of one side; `None` without results, or when one is not finite.
    #[must_use]
    pub fn from_results(results: &[TimedValue], confidence: f64) -> Option<Self> {
        let values: Vec<f64> = results.iter().map(|result| result.value).collect();
        let statistics: Welford = values.iter().collect();
        let mean = statistics.mean()?;
        Some(Self {
            n: statistics.n(),
            mean: mean_of_trials(&values, confidence).unwrap_or_else(|| Estimate::single(mean)),
            sd: statistics.sd(),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// The reason why two sides cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum NotComparable {
    /// A side has no results.
    #[serde(rename = "nothing")]
    Empty {
        /// The number of results of the first side.
        first: usize,
        /// The number of results of the second side.
        second: usize,
    },
    /// A side has fewer than [`MIN_TRIALS_OF_INTERVAL`] results, whose spread says too little.
    TooFew {
        /// The number of results of the first side.
        first: usize,
        /// The number of results of the second side.
        second: usize,
    },
    /// A result is not a finite number.
    NotANumber,
    /// All results of each side are equal.
    NoSpread {
        /// The result of the first side.
        first: f64,
        /// The result of the second side.
        second: f64,
    },
    /// The sides are in different units.
    Units,
    /// The confidence is not between 0 and 1.
    Confidence,
}

/// The second mean as a multiple of the first, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio of the means.
    pub ratio: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
}

/// The result of a test for equivalence within a margin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Equivalence {
    /// The margin as a fraction of the first mean.
    pub margin: f64,
    /// The margin in the unit of the results.
    pub within: f64,
    /// The p-value: the probability of so small a difference between sides that differ by the margin or more.
    pub p: f64,
    /// The p-value adjusted for the number of comparisons.
    pub adjusted_p: f64,
    /// `true` when the sides are shown to differ by less than the margin.
    pub holds: bool,
}

/// The comparison of two sides. Differences are the second minus the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// The second mean minus the first, with its interval.
    pub difference: Estimate,
    /// The second mean as a multiple of the first, where both are positive and an interval exists.
    pub ratio: Option<Ratio>,
    /// The test statistic of Welch's t-test: the difference in standard errors.
    pub t: f64,
    /// The degrees of freedom by Welch and Satterthwaite.
    pub df: f64,
    /// The two-sided p-value: the probability of so large a difference between equal means.
    pub p: f64,
    /// The p-value adjusted for the number of comparisons.
    pub adjusted_p: f64,
    /// The Mann–Whitney test, which assumes no distribution.
    pub ranks: MannWhitney,
    /// The Hodges–Lehmann shift between the sides; `None` for too many pairs.
    pub shift: Option<f64>,
    /// The test for equivalence, where a margin was given.
    pub equivalence: Option<Equivalence>,
    /// The drift over time within the sides.
    pub drift: Drift,
    /// `true` when the difference is significant at the confidence given, over all comparisons made together.
    pub differs: bool,
}

/// Compares two sides; with a `margin`, a fraction of the first mean, also tests their equivalence.
///
/// # Errors
///
/// The reason why the sides cannot be compared.
pub fn contrast(
    first: &[TimedValue],
    second: &[TimedValue],
    confidence: f64,
    margin: Option<f64>,
) -> Result<Contrast, NotComparable> {
    let values = |side: &[TimedValue]| side.iter().map(|result| result.value).collect::<Vec<_>>();
    let (a, b) = (values(first), values(second));
    check_comparable(&a, &b, confidence)?;
    let test = welch(&b, &a, confidence).ok_or(NotComparable::NotANumber)?;
    let ranks = mann_whitney(&b, &a).ok_or(NotComparable::NotANumber)?;
    let difference = test.difference;
    Ok(Contrast {
        difference,
        ratio: fieller_ratio(&a, &b, &test, confidence),
        t: test.t,
        df: test.df,
        p: test.p,
        adjusted_p: test.p,
        ranks,
        shift: hodges_lehmann(&b, &a),
        equivalence: margin.and_then(|margin| equivalence(&a, &test, margin, confidence)),
        drift: Drift::between(first, second, difference.mean, confidence),
        differs: test.p < 1.0 - confidence,
    })
}

/// Checks that the results `a` and `b` of two sides can be compared at `confidence`.
fn check_comparable(a: &[f64], b: &[f64], confidence: f64) -> Result<(), NotComparable> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(NotComparable::Confidence);
    }
    if a.iter().chain(b).any(|value| !value.is_finite()) {
        return Err(NotComparable::NotANumber);
    }
    match (a.len(), b.len()) {
        (first, second) if first == 0 || second == 0 => {
            return Err(NotComparable::Empty { first, second });
        }
        (first, second) if first.min(second) < MIN_TRIALS_OF_INTERVAL => {
            return Err(NotComparable::TooFew { first, second });
        }
        _ => {}
    }
    let is_constant = |values: &[f64]| {
        let statistics: Welford = values.iter().collect();
        let sd = statistics.sd().unwrap_or(0.0);
        sd <= statistics.mean().unwrap_or(0.0).abs() * MAX_ROUNDING_ERROR
    };
    if is_constant(a) && is_constant(b) {
        return Err(NotComparable::NoSpread {
            first: a[0],
            second: b[0],
        });
    }
    Ok(())
}

/// Adjusts the p-values of comparisons made together by Holm's method and decides their significance again.
pub fn adjust_for_multiple_comparisons(all: &mut [&mut Contrast], confidence: f64) {
    let alpha = 1.0 - confidence;
    let difference_ps: Vec<f64> = all.iter().map(|one| one.p).collect();
    for (one, p) in all.iter_mut().zip(holm(&difference_ps)) {
        one.adjusted_p = p;
        one.differs = p < alpha;
    }
    let equivalence_ps: Vec<f64> = all
        .iter()
        .filter_map(|one| Some(one.equivalence?.p))
        .collect();
    let equivalences = all.iter_mut().filter_map(|one| one.equivalence.as_mut());
    for (one, p) in equivalences.zip(holm(&equivalence_ps)) {
        one.adjusted_p = p;
        one.holds = p < alpha;
    }
}

/// The ratio of the means with Fieller's interval.
///
/// `None` unless both means are positive and the first is significantly so. Source: Fieller, "Some Problems in Interval
/// Estimation", 1954, for independent means, with Welch's degrees of freedom.
fn fieller_ratio(first: &[f64], second: &[f64], test: &Welch, confidence: f64) -> Option<Ratio> {
    let mean_and_variance = |values: &[f64]| {
        let statistics: Welford = values.iter().collect();
        Some((
            statistics.mean()?,
            statistics.variance()? / values.len() as f64,
        ))
    };
    let (mean1, variance1) = mean_and_variance(first)?;
    let (mean2, variance2) = mean_and_variance(second)?;
    if !(mean1 > 0.0 && mean2 > 0.0) {
        return None;
    }
    let t = two_sided_t(confidence, test.df)?;
    let g = t * t * variance1 / (mean1 * mean1);
    if g >= 1.0 {
        return None;
    }
    let ratio = mean2 / mean1;
    let half = t / mean1 * ((1.0 - g) * variance2 + ratio * ratio * variance1).sqrt();
    let (low, high) = ((ratio - half) / (1.0 - g), (ratio + half) / (1.0 - g));
    (low.is_finite() && high.is_finite()).then_some(Ratio { ratio, low, high })
}

/// Tests equivalence by two one-sided tests (TOST), one at either end of the margin.
///
/// `None` for a margin or a first mean of zero. Source: Schuirmann, "A Comparison of the Two One-Sided Tests Procedure
/// and the Power Approach for Assessing the Equivalence of Average Bioavailability", 1987. The margin is treated as known,
/// though it is a fraction of a measured mean.
fn equivalence(first: &[f64], test: &Welch, margin: f64, confidence: f64) -> Option<Equivalence> {
    let statistics: Welford = first.iter().collect();
    let within = margin * statistics.mean()?.abs();
    if !(within.is_finite() && within > 0.0) {
        return None;
    }
    let upper_tail = |t: f64| {
        let both_tails = student_two_sided(t, test.df);
        if t > 0.0 {
            both_tails / 2.0
        } else {
            1.0 - both_tails / 2.0
        }
    };
    let difference = test.difference.mean;
    let p = upper_tail((within + difference) / test.standard_error)
        .max(upper_tail((within - difference) / test.standard_error));
    Some(Equivalence {
        margin,
        within,
        p,
        adjusted_p: p,
        holds: p < 1.0 - confidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::RunOrder;

    const A: [f64; 5] = [941.2, 938.7, 940.1, 942.3, 939.9];

    const B: [f64; 5] = [925.0, 930.2, 928.8, 934.1, 927.5];

    fn timed(values: &[f64]) -> Vec<TimedValue> {
        let timed = values.iter().enumerate();
        timed
            .map(|(nth, &value)| TimedValue {
                at_s: Some(nth as f64),
                value,
            })
            .collect()
    }

    fn compare(first: &[f64], second: &[f64]) -> Result<Contrast, NotComparable> {
        contrast(&timed(first), &timed(second), 0.95, Some(0.05))
    }

    /// Normal values from a fixed seed, by SplitMix64 (Steele, Lea, Flood 2014) and Box and Muller.
    struct Normal(u64);

    impl Normal {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn values(&mut self, n: usize, mean: f64) -> Vec<f64> {
            (0..n)
                .map(|_| {
                    let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
                    mean + radius * (std::f64::consts::TAU * self.uniform()).cos()
                })
                .collect()
        }
    }

    #[test]
    fn a_second_side_below_the_first_gives_a_negative_difference() {
        let found = compare(&A, &B).unwrap();
        assert_eq!(format!("{:.2}", found.difference.mean), "-11.32");
        assert_eq!(format!("{:.4}", found.difference.low), "-15.4453");
        assert_eq!(format!("{:.4}", found.difference.high), "-7.1947");
        assert_eq!(format!("{:.7}", found.ranks.p), "0.0079365");
        assert_eq!(format!("{:.1}", found.shift.unwrap()), "-11.3");
        assert!(found.differs);
        let ratio = found.ratio.unwrap();
        assert_eq!(format!("{:.4}", ratio.ratio), "0.9880");
        assert!(ratio.low < ratio.ratio && ratio.ratio < ratio.high && ratio.high < 1.0);
        // A difference of 1.2 % is there, and is within 5 %: both are shown.
        assert!(found.equivalence.unwrap().holds);
    }

    #[test]
    fn sides_that_cannot_be_compared_give_the_reason() {
        assert_eq!(
            compare(&[], &A),
            Err(NotComparable::Empty {
                first: 0,
                second: 5
            })
        );
        assert_eq!(
            compare(&[1.0], &A),
            Err(NotComparable::TooFew {
                first: 1,
                second: 5
            })
        );
        assert_eq!(
            compare(&[1.0, f64::NAN, 1.0], &A),
            Err(NotComparable::NotANumber)
        );
        let constant = NotComparable::NoSpread {
            first: 2.0,
            second: 3.0,
        };
        assert_eq!(compare(&[2.0; 5], &[3.0; 6]), Err(constant));
        let few = NotComparable::TooFew {
            first: 5,
            second: 4,
        };
        assert_eq!(compare(&A, &B[..4]), Err(few));
        let certain = contrast(&timed(&A), &timed(&B), 1.0, None);
        assert_eq!(certain, Err(NotComparable::Confidence));
    }

    #[test]
    fn a_constant_side_is_compared_with_one_that_varies() {
        let found = compare(&[2.0; 5], &[3.0, 3.1, 2.9, 3.05, 2.95]).unwrap();
        assert!(found.differs, "{found:?}");
    }

    #[test]
    fn there_is_no_ratio_where_the_first_mean_may_be_zero() {
        let found = compare(&[0.1, -0.1, 0.2, 0.15, -0.15], &[3.0, 3.1, 2.9, 3.0, 3.2]).unwrap();
        assert_eq!(found.ratio, None);
    }

    #[test]
    fn equal_distributions_show_no_difference_in_93_of_100_trials_for_any_number_of_comparisons() {
        for comparisons in [1, 12] {
            let mut normal = Normal(7 + comparisons);
            let trials = 1000;
            let quiet = (0..trials).filter(|_| {
                let mut found: Vec<Contrast> = (0..comparisons)
                    .map(|_| compare(&normal.values(8, 100.0), &normal.values(8, 100.0)).unwrap())
                    .collect();
                adjust_for_multiple_comparisons(&mut found.iter_mut().collect::<Vec<_>>(), 0.95);
                found.iter().all(|one| !one.differs)
            });
            let quiet = quiet.count();
            assert!(
                (930..=980).contains(&quiet),
                "{comparisons} comparisons: {quiet} of {trials}"
            );
        }
    }

    #[test]
    fn two_standard_deviations_are_found_with_ten_runs_each_nearly_always() {
        let mut normal = Normal(3);
        let found = (0..1000).filter(|_| {
            let (first, second) = (normal.values(10, 100.0), normal.values(10, 102.0));
            compare(&first, &second).unwrap().differs
        });
        assert!(found.count() >= 970);
    }

    #[test]
    fn the_interval_of_a_ratio_contains_the_true_ratio_at_its_confidence() {
        let mut normal = Normal(11);
        let held = (0..1000).filter(|_| {
            let found = compare(&normal.values(8, 10.0), &normal.values(6, 12.0)).unwrap();
            let ratio = found.ratio.unwrap();
            ratio.low <= 1.2 && 1.2 <= ratio.high
        });
        let held = held.count();
        assert!((930..=970).contains(&held), "{held}");
    }

    #[test]
    fn sides_that_differ_by_the_margin_are_rarely_called_equivalent_and_close_ones_usually() {
        let mut normal = Normal(5);
        let mut called = |second: f64| {
            let all = (0..500).filter(|_| {
                let found = compare(&normal.values(10, 100.0), &normal.values(10, second)).unwrap();
                found.equivalence.unwrap().holds
            });
            all.count()
        };
        assert!(called(105.0) <= 40);
        assert!(called(100.5) >= 490);
    }

    #[test]
    fn drift_through_both_sides_is_suspected() {
        let wobble = |nth: usize| [0.3, -0.2, 0.1, -0.3, 0.2][nth % 5];
        let side = |from: usize| -> Vec<TimedValue> {
            (from..from + 8)
                .map(|nth| TimedValue {
                    at_s: Some(nth as f64 * 60.0),
                    value: 100.0 + nth as f64 + wobble(nth),
                })
                .collect()
        };
        let found = contrast(&side(0), &side(8), 0.95, None).unwrap();
        assert!(found.differs && found.drift.suspected, "{found:?}");
        assert_eq!(found.drift.order, RunOrder::FirstBefore);
        assert!((found.drift.explains.unwrap() - 8.0).abs() < 0.5);
    }

    #[test]
    fn drift_is_not_suspected_in_interleaved_runs() {
        let timed_from = |values: &[f64], from: f64| -> Vec<TimedValue> {
            let all = values.iter().enumerate();
            all.map(|(nth, &value)| TimedValue {
                at_s: Some(from + 2.0 * nth as f64),
                value,
            })
            .collect()
        };
        let found = contrast(&timed_from(&A, 0.0), &timed_from(&B, 1.0), 0.95, None).unwrap();
        assert_eq!(found.drift.order, RunOrder::Interleaved);
        assert!(!found.drift.suspected);
        let untimed = TimedValue {
            at_s: None,
            value: 1.0,
        };
        let untimed: Vec<TimedValue> = (1..=5)
            .map(|value| TimedValue {
                value: f64::from(value),
                ..untimed
            })
            .collect();
        let found = contrast(&untimed, &timed(&B), 0.95, None);
        assert_eq!(found.unwrap().drift.order, RunOrder::Unknown);
    }
}
