//! The rule by which the trials of a case stop.

use super::error::{ExperimentError, Result};
use super::key_locations::KeyLocations;
use crate::campaign::{MAX_TRIALS_WITH_ERROR_GOAL, MIN_TRIALS, MIN_TRIALS_WITH_ERROR_GOAL};
use crate::file::ExperimentFile;
use caudal_core::units::parse_fraction;
use caudal_stats::StopRule;

/// Maximum number of trials of a case.
const MAX_TRIALS: u64 = 10_000;

/// The rule by which cases are repeated.
pub(super) fn stop_rule(file: &ExperimentFile, locations: &KeyLocations<'_>) -> Result<StopRule> {
    let repeat = &file.repeat;
    let relative_error = match &repeat.relative_error {
        None => f64::INFINITY,
        Some(text) => parse_fraction(text).map_err(|error| {
            ExperimentError::new(
                locations.repeat("relative_error"),
                format!("{text:?} is not a fraction"),
                error.to_string(),
            )
        })?,
    };
    let min = repeat.min.unwrap_or_else(|| {
        let default = if relative_error.is_finite() {
            MIN_TRIALS_WITH_ERROR_GOAL
        } else {
            MIN_TRIALS
        };
        repeat.max.map_or(default, |max| default.min(max))
    });
    let max = repeat.max.unwrap_or(if relative_error.is_finite() {
        MAX_TRIALS_WITH_ERROR_GOAL.max(min)
    } else {
        min
    });
    if min == 0 || min > MAX_TRIALS {
        return Err(ExperimentError::new(
            locations.repeat("min"),
            format!("a case cannot have {min} trials"),
            format!("use 1 to {MAX_TRIALS}"),
        ));
    }
    if max < min || max > MAX_TRIALS {
        return Err(ExperimentError::new(
            locations.repeat("max"),
            format!("a case cannot have at most {max} trials"),
            format!("use {min}, the minimum, to {MAX_TRIALS}"),
        ));
    }
    let confidence = repeat.confidence.unwrap_or(0.95);
    if !(0.5..1.0).contains(&confidence) {
        return Err(ExperimentError::new(
            locations.repeat("confidence"),
            format!("the confidence cannot be {confidence}"),
            "use 0.5 to below 1, as 0.95",
        ));
    }
    Ok(StopRule {
        // With a fixed number of trials there is nothing to decide.
        relative_error: if min == max {
            f64::INFINITY
        } else {
            relative_error
        },
        confidence,
        min,
        max,
    })
}
