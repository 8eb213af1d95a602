//! Two sides of a comparison, each of several runs: how far apart, how sure, whether near enough, whether by drift.
//!
//! What cannot be compared is said ([`Cannot`]), never computed.

use serde::{Deserialize, Serialize};

use super::compare::{MannWhitney, Welch, hodges_lehmann, holm, mann_whitney, welch};
use super::estimate::{Estimate, Welford, mean_interval, two_sided_t};
use super::series::mann_kendall;
use super::special::student_two_sided;

/// Spreads below this part of the mean are rounding, not spread.
const ROUNDING: f64 = 1e-12;

/// The result of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// When it was taken, seconds on a clock that both sides share; `None` when nobody knows.
    pub at_s: Option<f64>,
    /// What came out.
    pub value: f64,
}

/// The results of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub n: u64,
    /// Their mean; with several, where it lies.
    pub mean: Estimate,
    /// Their standard deviation; `None` for a single one.
    pub sd: Option<f64>,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// Why two sides cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Cannot {
    /// A side is empty.
    Nothing {
        /// Results of the first.
        first: usize,
        /// Results of the second.
        second: usize,
    },
    /// A side has a single result: nothing tells its spread.
    TooFew {
        /// Results of the first.
        first: usize,
        /// Results of the second.
        second: usize,
    },
    /// A result is not a number.
    NotANumber,
    /// All results of each side are the same.
    NoSpread {
        /// The first's.
        first: f64,
        /// The second's.
        second: f64,
    },
    /// They are not in the same unit.
    Units,
    /// The confidence is not between 0 and 1.
    Confidence,
}

/// The second mean as a multiple of the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The multiple.
    pub ratio: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Whether the sides are as good as equal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Equivalence {
    /// How far apart they may be: a part of the first mean.
    pub margin: f64,
    /// The same in the unit of the results.
    pub within: f64,
    /// The probability of so near results from sides that are the margin apart, or more.
    pub p: f64,
    /// The same, raised for the number of comparisons made at once.
    pub adjusted_p: f64,
    /// Whether they are shown to be within the margin.
    pub holds: bool,
}

/// How the two sides lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The first was over before the second began.
    FirstBefore,
    /// The second was over before the first began.
    SecondBefore,
    /// They took turns, or overlap.
    Interleaved,
    /// Not all times are known.
    Unknown,
}

/// What time itself may have done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// How the sides lie in time.
    pub order: Order,
    /// The probability of so strong a trend within the first by chance; `None` below four results, without times, or where all are equal.
    pub first_p: Option<f64>,
    /// The same for the second.
    pub second_p: Option<f64>,
    /// What the trend within the sides, carried on from one to the other, makes of a difference.
    pub explains: Option<f64>,
    /// Whether a trend is there and by itself makes half of the difference or more, in the same direction.
    pub suspected: bool,
}

/// How two sides compare. Differences are those of the second from the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// The second mean less the first, with its interval.
    pub difference: Estimate,
    /// The second mean as a multiple of the first, where both are above zero and an interval exists.
    pub ratio: Option<Ratio>,
    /// The difference in standard errors.
    pub t: f64,
    /// Degrees of freedom after Welch and Satterthwaite.
    pub df: f64,
    /// The probability of so large a difference between equal means.
    pub p: f64,
    /// The same, raised for the number of comparisons made at once.
    pub adjusted_p: f64,
    /// Without assuming a distribution.
    pub ranks: MannWhitney,
    /// The shift between them after Hodges and Lehmann; `None` for too many pairs.
    pub shift: Option<f64>,
    /// Whether they are as good as equal, where that was asked.
    pub equivalence: Option<Equivalence>,
    /// What time may have done.
    pub drift: Drift,
    /// Whether a difference is shown: at the confidence asked, over all comparisons made at once.
    pub differs: bool,
}

/// The results of one side; `None` without any, or with one that is no number.
#[must_use]
pub fn spread(readings: &[Reading], confidence: f64) -> Option<Spread> {
    let values: Vec<f64> = readings.iter().map(|reading| reading.value).collect();
    let seen: Welford = values.iter().collect();
    let mean = seen.mean()?;
    Some(Spread {
        n: seen.n(),
        mean: mean_interval(&values, confidence).unwrap_or_else(|| Estimate::single(mean)),
        sd: seen.sd(),
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    })
}

/// Compares two sides; `margin` asks whether they are within that part of the first mean of one another.
///
/// # Errors
///
/// Why nothing can be said.
pub fn contrast(
    first: &[Reading],
    second: &[Reading],
    confidence: f64,
    margin: Option<f64>,
) -> Result<Contrast, Cannot> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Cannot::Confidence);
    }
    let values = |side: &[Reading]| side.iter().map(|reading| reading.value).collect::<Vec<_>>();
    let (a, b) = (values(first), values(second));
    if a.iter().chain(&b).any(|value| !value.is_finite()) {
        return Err(Cannot::NotANumber);
    }
    match (a.len(), b.len()) {
        (first, second) if first == 0 || second == 0 => {
            return Err(Cannot::Nothing { first, second });
        }
        (first, second) if first < 2 || second < 2 => {
            return Err(Cannot::TooFew { first, second });
        }
        _ => {}
    }
    let is_still = |values: &[f64]| {
        let seen: Welford = values.iter().collect();
        let spread = seen.sd().unwrap_or(0.0);
        spread <= seen.mean().unwrap_or(0.0).abs() * ROUNDING
    };
    if is_still(&a) && is_still(&b) {
        return Err(Cannot::NoSpread {
            first: a[0],
            second: b[0],
        });
    }
    let found = welch(&b, &a, confidence).ok_or(Cannot::NotANumber)?;
    let ranks = mann_whitney(&b, &a).ok_or(Cannot::NotANumber)?;
    let difference = found.difference;
    Ok(Contrast {
        difference,
        ratio: ratio(&a, &b, &found, confidence),
        t: found.t,
        df: found.df,
        p: found.p,
        adjusted_p: found.p,
        ranks,
        shift: hodges_lehmann(&b, &a),
        equivalence: margin.and_then(|margin| equivalence(&a, &found, margin, confidence)),
        drift: drift(first, second, difference.mean, confidence),
        differs: found.p < 1.0 - confidence,
    })
}

/// Raises the probabilities of comparisons that are made at once, by Holm's method, and judges anew.
pub fn contrasts(all: &mut [&mut Contrast], confidence: f64) {
    let alpha = 1.0 - confidence;
    let apart: Vec<f64> = all.iter().map(|one| one.p).collect();
    for (one, p) in all.iter_mut().zip(holm(&apart)) {
        one.adjusted_p = p;
        one.differs = p < alpha;
    }
    let near: Vec<f64> = all
        .iter()
        .filter_map(|one| Some(one.equivalence?.p))
        .collect();
    let equal = all.iter_mut().filter_map(|one| one.equivalence.as_mut());
    for (one, p) in equal.zip(holm(&near)) {
        one.adjusted_p = p;
        one.holds = p < alpha;
    }
}

/// The ratio of the means with its interval.
///
/// `None` unless both means are above zero and the first is clearly so. Source: Fieller, "Some Problems in Interval
/// Estimation", 1954, for independent means, with Welch's degrees of freedom.
fn ratio(first: &[f64], second: &[f64], found: &Welch, confidence: f64) -> Option<Ratio> {
    let of = |values: &[f64]| {
        let seen: Welford = values.iter().collect();
        Some((seen.mean()?, seen.variance()? / values.len() as f64))
    };
    let ((mean1, variance1), (mean2, variance2)) = (of(first)?, of(second)?);
    if !(mean1 > 0.0 && mean2 > 0.0) {
        return None;
    }
    let t = two_sided_t(confidence, found.df)?;
    let g = t * t * variance1 / (mean1 * mean1);
    if g >= 1.0 {
        return None;
    }
    let ratio = mean2 / mean1;
    let half = t / mean1 * ((1.0 - g) * variance2 + ratio * ratio * variance1).sqrt();
    let (low, high) = ((ratio - half) / (1.0 - g), (ratio + half) / (1.0 - g));
    (low.is_finite() && high.is_finite()).then_some(Ratio { ratio, low, high })
}

/// Two one-sided tests, that the difference is above the margin below zero and below the margin above it.
///
/// `None` for a margin or a first mean of zero. Source: Schuirmann, "A Comparison of the Two One-Sided Tests Procedure
/// and the Power Approach", 1987. The margin is taken for known, though it is a part of a mean that is measured.
fn equivalence(first: &[f64], found: &Welch, margin: f64, confidence: f64) -> Option<Equivalence> {
    let seen: Welford = first.iter().collect();
    let within = margin * seen.mean()?.abs();
    if !(within.is_finite() && within > 0.0) {
        return None;
    }
    let above = |t: f64| {
        let both = student_two_sided(t, found.df);
        if t > 0.0 {
            both / 2.0
        } else {
            1.0 - both / 2.0
        }
    };
    let apart = found.difference.mean;
    let p = above((within + apart) / found.standard_error)
        .max(above((within - apart) / found.standard_error));
    Some(Equivalence {
        margin,
        within,
        p,
        adjusted_p: p,
        holds: p < 1.0 - confidence,
    })
}

fn drift(first: &[Reading], second: &[Reading], difference: f64, confidence: f64) -> Drift {
    const FEWEST: usize = 4;
    let timed = |side: &[Reading]| -> Option<Vec<(f64, f64)>> {
        let mut timed: Vec<(f64, f64)> = side
            .iter()
            .map(|reading| Some((reading.at_s.filter(|at| at.is_finite())?, reading.value)))
            .collect::<Option<_>>()?;
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(timed)
    };
    let mut found = Drift {
        order: Order::Unknown,
        first_p: None,
        second_p: None,
        explains: None,
        suspected: false,
    };
    let (Some(a), Some(b)) = (timed(first), timed(second)) else {
        return found;
    };
    let ends = |side: &[(f64, f64)]| Some((side.first()?.0, side.last()?.0));
    let (Some((a_from, a_to)), Some((b_from, b_to))) = (ends(&a), ends(&b)) else {
        return found;
    };
    found.order = if a_to < b_from {
        Order::FirstBefore
    } else if b_to < a_from {
        Order::SecondBefore
    } else {
        Order::Interleaved
    };
    let trend = |side: &[(f64, f64)]| {
        let values: Vec<f64> = side.iter().map(|(_, value)| *value).collect();
        (values.len() >= FEWEST).then(|| mann_kendall(&values).map(|found| found.p))?
    };
    (found.first_p, found.second_p) = (trend(&a), trend(&b));
    // The slope that both sides have in common, from how they vary about their own means.
    let centre = |side: &[(f64, f64)]| {
        let n = side.len() as f64;
        let sum = side
            .iter()
            .fold((0.0, 0.0), |sum, (at, value)| (sum.0 + at, sum.1 + value));
        (sum.0 / n, sum.1 / n)
    };
    let (a_mean, b_mean) = (centre(&a), centre(&b));
    let about = |side: &[(f64, f64)], mean: (f64, f64)| {
        side.iter().fold((0.0, 0.0), |sum, (at, value)| {
            let off = at - mean.0;
            (sum.0 + off * (value - mean.1), sum.1 + off * off)
        })
    };
    let (a_about, b_about) = (about(&a, a_mean), about(&b, b_mean));
    let spread = a_about.1 + b_about.1;
    if a.len() + b.len() >= 2 * FEWEST && spread > 0.0 {
        let explains = (a_about.0 + b_about.0) / spread * (b_mean.0 - a_mean.0);
        found.explains = explains.is_finite().then_some(explains);
    }
    let is_trend = |p: Option<f64>| p.is_some_and(|p| p < 1.0 - confidence);
    found.suspected = (is_trend(found.first_p) || is_trend(found.second_p))
        && found.explains.is_some_and(|explains| {
            explains * difference > 0.0 && explains.abs() >= difference.abs() / 2.0
        });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 5] = [941.2, 938.7, 940.1, 942.3, 939.9];
    const B: [f64; 5] = [925.0, 930.2, 928.8, 934.1, 927.5];

    fn readings(values: &[f64]) -> Vec<Reading> {
        let timed = values.iter().enumerate();
        timed
            .map(|(nth, &value)| Reading {
                at_s: Some(nth as f64),
                value,
            })
            .collect()
    }

    fn of(first: &[f64], second: &[f64]) -> Result<Contrast, Cannot> {
        contrast(&readings(first), &readings(second), 0.95, Some(0.05))
    }

    /// Normal values from a fixed seed, by a generator of 64 bits (Steele, Lea, Flood 2014) and Box and Muller.
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
    fn the_second_is_so_much_below_the_first() {
        let found = of(&A, &B).unwrap();
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
    fn what_cannot_be_compared_is_said() {
        assert_eq!(
            of(&[], &A),
            Err(Cannot::Nothing {
                first: 0,
                second: 5
            })
        );
        assert_eq!(
            of(&[1.0], &A),
            Err(Cannot::TooFew {
                first: 1,
                second: 5
            })
        );
        assert_eq!(of(&[1.0, f64::NAN], &A), Err(Cannot::NotANumber));
        let still = Cannot::NoSpread {
            first: 2.0,
            second: 3.0,
        };
        assert_eq!(of(&[2.0, 2.0], &[3.0, 3.0, 3.0]), Err(still));
        let sure = contrast(&readings(&A), &readings(&B), 1.0, None);
        assert_eq!(sure, Err(Cannot::Confidence));
    }

    #[test]
    fn one_side_without_spread_is_compared_all_the_same() {
        let found = of(&[2.0, 2.0, 2.0], &[3.0, 3.1, 2.9]).unwrap();
        assert!(found.differs, "{found:?}");
    }

    #[test]
    fn no_ratio_is_given_where_the_first_may_be_zero() {
        let found = of(&[0.1, -0.1, 0.2], &[3.0, 3.1, 2.9]).unwrap();
        assert_eq!(found.ratio, None);
    }

    #[test]
    fn a_distribution_against_itself_finds_nothing_in_93_of_100_trials_however_many_cells() {
        for cells in [1, 12] {
            let mut normal = Normal(7 + cells);
            let trials = 1000;
            let quiet = (0..trials).filter(|_| {
                let mut found: Vec<Contrast> = (0..cells)
                    .map(|_| of(&normal.values(8, 100.0), &normal.values(8, 100.0)).unwrap())
                    .collect();
                contrasts(&mut found.iter_mut().collect::<Vec<_>>(), 0.95);
                found.iter().all(|one| !one.differs)
            });
            let quiet = quiet.count();
            assert!(
                (930..=980).contains(&quiet),
                "{cells} cells: {quiet} of {trials}"
            );
        }
    }

    #[test]
    fn two_standard_deviations_are_found_with_ten_runs_each_nearly_always() {
        let mut normal = Normal(3);
        let found = (0..1000).filter(|_| {
            let (first, second) = (normal.values(10, 100.0), normal.values(10, 102.0));
            of(&first, &second).unwrap().differs
        });
        assert!(found.count() >= 970);
    }

    #[test]
    fn the_interval_of_a_ratio_holds_the_true_one_as_often_as_it_says() {
        let mut normal = Normal(11);
        let held = (0..1000).filter(|_| {
            let found = of(&normal.values(8, 10.0), &normal.values(6, 12.0)).unwrap();
            let ratio = found.ratio.unwrap();
            ratio.low <= 1.2 && 1.2 <= ratio.high
        });
        let held = held.count();
        assert!((930..=970).contains(&held), "{held}");
    }

    #[test]
    fn sides_at_the_margin_are_rarely_called_equal_and_near_ones_usually() {
        let mut normal = Normal(5);
        let mut called = |second: f64| {
            let all = (0..500).filter(|_| {
                let found = of(&normal.values(10, 100.0), &normal.values(10, second)).unwrap();
                found.equivalence.unwrap().holds
            });
            all.count()
        };
        assert!(called(105.0) <= 40);
        assert!(called(100.5) >= 490);
    }

    #[test]
    fn a_trend_that_runs_through_both_sides_is_suspected() {
        let wobble = |nth: usize| [0.3, -0.2, 0.1, -0.3, 0.2][nth % 5];
        let side = |from: usize| -> Vec<Reading> {
            (from..from + 8)
                .map(|nth| Reading {
                    at_s: Some(nth as f64 * 60.0),
                    value: 100.0 + nth as f64 + wobble(nth),
                })
                .collect()
        };
        let found = contrast(&side(0), &side(8), 0.95, None).unwrap();
        assert!(found.differs && found.drift.suspected, "{found:?}");
        assert_eq!(found.drift.order, Order::FirstBefore);
        assert!((found.drift.explains.unwrap() - 8.0).abs() < 0.5);
    }

    #[test]
    fn sides_that_took_turns_are_not() {
        let timed = |values: &[f64], from: f64| -> Vec<Reading> {
            let all = values.iter().enumerate();
            all.map(|(nth, &value)| Reading {
                at_s: Some(from + 2.0 * nth as f64),
                value,
            })
            .collect()
        };
        let found = contrast(&timed(&A, 0.0), &timed(&B, 1.0), 0.95, None).unwrap();
        assert_eq!(found.drift.order, Order::Interleaved);
        assert!(!found.drift.suspected);
        let untimed = Reading {
            at_s: None,
            value: 1.0,
        };
        let found = contrast(
            &[
                untimed,
                Reading {
                    value: 2.0,
                    ..untimed
                },
            ],
            &readings(&B),
            0.95,
            None,
        );
        assert_eq!(found.unwrap().drift.order, Order::Unknown);
    }
}
