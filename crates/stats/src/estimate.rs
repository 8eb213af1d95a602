//! An estimate: a value with its interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The method by which an interval was computed, which decides how to read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// Student's t over the results of independent runs: an interval for their mean.
    IndependentRunsT,
    /// Student's t over independent runs: an interval for the result of the next run.
    PredictionT,
    /// Student's t over the means of batches of correlated values within one run.
    BatchMeansT,
    /// Welch's t for the difference of two means.
    WelchT,
    /// Student's t for the ratio of two means, to first order (delta method).
    RatioT,
    /// Student's t over the runs of two stages, with the standard deviation of the first, which decided on their number.
    TwoStageT,
    /// Student's t over the logarithms of the ratios of pairs of results.
    PairedLogRatioT,
    /// The slope of a line through minimum delays (Theil–Sen), with its error from resampling (bootstrap).
    TheilSenBootstrap,
    /// Wilson's score interval for a proportion.
    Wilson,
    /// The minimum and the maximum of fewer than five trials, too few for an interval, at confidence zero.
    Range,
    /// Bounds from the resolution of the readings and what else they may hold, at confidence zero.
    ErrorBound,
    /// A single value, which has no interval: low and high are the value, at confidence zero.
    SingleValue,
}

/// An estimated value with its interval, confidence, count and method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The value, in the unit of the quantity measured.
    pub mean: f64,
    /// The lower end of the interval, in the same unit.
    pub low: f64,
    /// The upper end of the interval, in the same unit.
    pub high: f64,
    /// The probability with which intervals computed this way contain the true value, from 0 to 1.
    pub confidence: f64,
    /// The number of values the estimate rests on.
    pub n: u64,
    /// The method that produced the interval.
    pub method: IntervalMethod,
}

impl Estimate {
    /// The estimate from a single value: an interval of zero width, at confidence zero.
    #[must_use]
    pub const fn single(value: f64) -> Self {
        Self {
            mean: value,
            low: value,
            high: value,
            confidence: 0.0,
            n: 1,
            method: IntervalMethod::SingleValue,
        }
    }

    /// `mean ± half_width`; `None` unless all are finite.
    pub(crate) fn around(
        mean: f64,
        half_width: f64,
        confidence: f64,
        n: usize,
        method: IntervalMethod,
    ) -> Option<Self> {
        let (low, high) = (mean - half_width, mean + half_width);
        (low.is_finite() && high.is_finite()).then_some(Self {
            mean,
            low,
            high,
            confidence,
            n: n as u64,
            method,
        })
    }

    /// The estimate with its interval cut at `min` and `max`, between which the true value must lie.
    ///
    /// The cut interval contains the true value as often as the whole one does. The mean is kept.
    #[must_use]
    pub const fn clamped_to(self, (min, max): (f64, f64)) -> Self {
        Self {
            low: self.low.max(min),
            high: self.high.min(max),
            ..self
        }
    }

    /// Half the width of the interval, in the unit of the mean.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Half the width as a fraction of the mean's magnitude; `None` for a mean of zero with an interval of nonzero width.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let half_width = self.half_width();
        if half_width == 0.0 {
            return Some(0.0);
        }
        let relative = half_width / self.mean.abs();
        relative.is_finite().then_some(relative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_named_in_snake_case_in_json() {
        let names = [
            IntervalMethod::IndependentRunsT,
            IntervalMethod::BatchMeansT,
            IntervalMethod::Wilson,
            IntervalMethod::SingleValue,
        ];
        assert_eq!(
            serde_json::to_string(&names).unwrap(),
            r#"["independent_runs_t","batch_means_t","wilson","single_value"]"#
        );
    }
}
