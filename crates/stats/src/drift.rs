//! Drift: a trend over time that may look like a difference between two sides.

use serde::{Deserialize, Serialize};

use crate::trend::mann_kendall;

/// Minimum results for a trend.
const MIN_RESULTS: usize = 4;

/// The result of one run with its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedValue {
    /// The time of the run, in seconds on a clock that both sides share; `None` when it is unknown.
    pub at_s: Option<f64>,
    /// The result of the run.
    pub value: f64,
}

/// The order of the two sides in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOrder {
    /// The first ended before the second began.
    FirstBefore,
    /// The second ended before the first began.
    SecondBefore,
    /// The sides alternate or overlap.
    Interleaved,
    /// Not all times are known.
    Unknown,
}

/// The drift over time within two sides, and the part of their difference it may explain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// The order of the sides in time.
    pub order: RunOrder,
    /// The p-value of a trend within the first side; `None` for fewer than four results, without times, or where all results are equal.
    pub first_p: Option<f64>,
    /// The p-value of a trend within the second side.
    pub second_p: Option<f64>,
    /// The difference that the trend within the sides, extrapolated from one to the other, would cause.
    pub explains: Option<f64>,
    /// `true` when there is a trend that explains at least half of the difference, in the same direction.
    pub suspected: bool,
}

impl Drift {
    /// The drift within `first` and `second`, whose means differ by `difference`; trends are tested at `confidence`.
    pub(crate) fn between(
        first: &[TimedValue],
        second: &[TimedValue],
        difference: f64,
        confidence: f64,
    ) -> Self {
        let (Some(a), Some(b)) = (TimeSeries::new(first), TimeSeries::new(second)) else {
            return Self {
                order: RunOrder::Unknown,
                first_p: None,
                second_p: None,
                explains: None,
                suspected: false,
            };
        };
        let (first_p, second_p) = (a.trend_p(), b.trend_p());
        let explains = extrapolated_difference(&a, &b);
        let is_trend = |p: Option<f64>| p.is_some_and(|p| p < 1.0 - confidence);
        let suspected = (is_trend(first_p) || is_trend(second_p))
            && explains.is_some_and(|explains| {
                explains * difference > 0.0 && explains.abs() >= difference.abs() / 2.0
            });
        Self {
            order: a.order(&b),
            first_p,
            second_p,
            explains,
            suspected,
        }
    }
}

/// The results of one side in the order of time: at least one, all with finite times.
struct TimeSeries(Vec<(f64, f64)>);

impl TimeSeries {
    fn new(results: &[TimedValue]) -> Option<Self> {
        let mut points: Vec<(f64, f64)> = results
            .iter()
            .map(|result| Some((result.at_s.filter(|at| at.is_finite())?, result.value)))
            .collect::<Option<_>>()?;
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (!points.is_empty()).then_some(Self(points))
    }

    fn order(&self, second: &Self) -> RunOrder {
        let (a, b) = (&self.0, &second.0);
        if a[a.len() - 1].0 < b[0].0 {
            RunOrder::FirstBefore
        } else if b[b.len() - 1].0 < a[0].0 {
            RunOrder::SecondBefore
        } else {
            RunOrder::Interleaved
        }
    }

    /// The p-value of a trend; `None` for too few results or equal ones.
    fn trend_p(&self) -> Option<f64> {
        let values: Vec<f64> = self.0.iter().map(|(_, value)| *value).collect();
        (values.len() >= MIN_RESULTS).then(|| mann_kendall(&values).map(|trend| trend.p))?
    }

    /// The mean time and the mean value.
    fn means(&self) -> (f64, f64) {
        let n = self.0.len() as f64;
        let sum = self
            .0
            .iter()
            .fold((0.0, 0.0), |sum, (at, value)| (sum.0 + at, sum.1 + value));
        (sum.0 / n, sum.1 / n)
    }

    /// The sums of `Δtime · Δvalue` and of `Δtime²` about the means.
    fn sums_about(&self, (mean_at, mean_value): (f64, f64)) -> (f64, f64) {
        self.0.iter().fold((0.0, 0.0), |sum, (at, value)| {
            let elapsed = at - mean_at;
            (
                sum.0 + elapsed * (value - mean_value),
                sum.1 + elapsed * elapsed,
            )
        })
    }
}

/// The difference that the slope common to both sides, fitted about their own means, causes from one to the other.
fn extrapolated_difference(a: &TimeSeries, b: &TimeSeries) -> Option<f64> {
    let (a_means, b_means) = (a.means(), b.means());
    let (a_sums, b_sums) = (a.sums_about(a_means), b.sums_about(b_means));
    let time_variation = a_sums.1 + b_sums.1;
    if a.0.len() + b.0.len() < 2 * MIN_RESULTS || time_variation <= 0.0 {
        return None;
    }
    let explains = (a_sums.0 + b_sums.0) / time_variation * (b_means.0 - a_means.0);
    explains.is_finite().then_some(explains)
}
