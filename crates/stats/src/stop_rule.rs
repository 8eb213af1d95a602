//! The rule by which repeated runs stop.

use serde::{Deserialize, Serialize};

use crate::mean::mean_interval;

/// The rule by which repeated runs stop: once the mean is known to `relative_error`, or after `max` runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StopRule {
    /// The half-width to reach, as a fraction of the mean.
    pub relative_error: f64,
    /// The confidence of the interval, between 0 and 1.
    pub confidence: f64,
    /// The minimum number of runs; below ten the confidence is optimistic: 92 % instead of 95 % with three.
    pub min: u64,
    /// The maximum number of runs.
    pub max: u64,
}

/// The decision, from the results so far, to continue or to stop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum StopDecision {
    /// Make another run.
    Continue,
    /// The goal is reached.
    Reached {
        /// The half-width reached, as a fraction of the mean.
        half_width_relative: f64,
    },
    /// The maximum number of runs was made and the goal is not reached.
    GaveUp {
        /// The half-width reached, as a fraction of the mean; `None` where there is no interval or the mean is zero.
        half_width_relative: Option<f64>,
    },
}

impl StopRule {
    /// Decides from the `results` so far; to be called after every run.
    ///
    /// The goal is reached at the first n ≥ `min` where it is met with and without the last result: stopping on a single
    /// lucky result would make the confidence optimistic.
    #[must_use]
    pub fn decide(&self, results: &[f64]) -> StopDecision {
        let width = |results: &[f64]| {
            mean_interval(results, self.confidence).and_then(|mean| mean.relative_half_width())
        };
        let n = results.len() as u64;
        if n < self.min.min(self.max) {
            return StopDecision::Continue;
        }
        let now = width(results);
        if n >= self.min
            && let Some(half_width_relative) = now
            && half_width_relative <= self.relative_error
            && let Some((_, before)) = results.split_last()
            && width(before).is_some_and(|before| before <= self.relative_error)
        {
            return StopDecision::Reached {
                half_width_relative,
            };
        }
        if n >= self.max {
            return StopDecision::GaveUp {
                half_width_relative: now,
            };
        }
        StopDecision::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const C: [f64; 3] = [92.1, 94.8, 89.5];

    #[test]
    fn repeating_stops_when_two_successive_counts_meet_the_goal() {
        let rule = StopRule {
            relative_error: 0.05,
            confidence: 0.95,
            min: 5,
            max: 10,
        };
        let steady = [100.0, 101.0, 99.0, 100.0, 100.5];
        assert_eq!(rule.decide(&steady[..4]), StopDecision::Continue);
        assert!(
            matches!(rule.decide(&steady), StopDecision::Reached { half_width_relative } if half_width_relative < 0.05)
        );
        // Met at five, but not at four.
        let settling = [100.0, 100.0, 104.0, 96.5, 100.0];
        let strict = StopRule {
            relative_error: 0.04,
            ..rule
        };
        assert!(
            mean_interval(&settling[..4], 0.95)
                .unwrap()
                .relative_half_width()
                .unwrap()
                > 0.04
        );
        assert!(
            mean_interval(&settling, 0.95)
                .unwrap()
                .relative_half_width()
                .unwrap()
                < 0.04
        );
        assert_eq!(strict.decide(&settling), StopDecision::Continue);
    }

    #[test]
    fn repeating_ends_at_the_maximum_and_gives_the_width_reached() {
        let rule = StopRule {
            relative_error: 0.01,
            confidence: 0.95,
            min: 3,
            max: 3,
        };
        assert!(
            matches!(rule.decide(&C), StopDecision::GaveUp { half_width_relative: Some(width) } if width > 0.07)
        );
        let nothing = StopRule { max: 0, ..rule };
        assert_eq!(
            nothing.decide(&[]),
            StopDecision::GaveUp {
                half_width_relative: None
            }
        );
        // Results that are all zero are known exactly.
        assert_eq!(
            rule.decide(&[0.0; 3]),
            StopDecision::Reached {
                half_width_relative: 0.0
            }
        );
    }

    proptest! {
        #[test]
        fn no_results_make_the_rule_panic(values: Vec<f64>, confidence: f64, relative: f64) {
            let rule = StopRule { relative_error: relative, confidence, min: 2, max: 5 };
            let _ = rule.decide(&values);
        }
    }
}
