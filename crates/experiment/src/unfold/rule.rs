//! When a case has been repeated enough.

use super::super::campaign::{FEWEST, FEWEST_UNTIL_KNOWN, MOST};
use super::super::file::ExperimentFile;
use super::error::{ExperimentError, Result};
use super::quick::Places;
use caudal_core::units::parse_fraction;
use caudal_stats::StopRule;

/// The most trials of a case.
const MOST_TRIALS: u64 = 10_000;

/// The rule by which cases are repeated.
pub(super) fn rule(file: &ExperimentFile, places: &Places<'_>) -> Result<StopRule> {
    let repeat = &file.repeat;
    let relative_error = match &repeat.relative_error {
        None => f64::INFINITY,
        Some(text) => parse_fraction(text).map_err(|error| {
            ExperimentError::new(
                places.repeat("relative_error"),
                format!("{text:?} is no part of one"),
                error.to_string(),
            )
        })?,
    };
    let min = repeat.min.unwrap_or_else(|| {
        let usual = if relative_error.is_finite() {
            FEWEST_UNTIL_KNOWN
        } else {
            FEWEST
        };
        repeat.max.map_or(usual, |max| usual.min(max))
    });
    let max = repeat.max.unwrap_or(if relative_error.is_finite() {
        MOST.max(min)
    } else {
        min
    });
    if min == 0 || min > MOST_TRIALS {
        return Err(ExperimentError::new(
            places.repeat("min"),
            format!("{min} trials of a case cannot be"),
            format!("take 1 to {MOST_TRIALS}"),
        ));
    }
    if max < min || max > MOST_TRIALS {
        return Err(ExperimentError::new(
            places.repeat("max"),
            format!("at most {max} trials of a case cannot be"),
            format!("take {min}, the fewest, to {MOST_TRIALS}"),
        ));
    }
    let confidence = repeat.confidence.unwrap_or(0.95);
    if !(0.5..1.0).contains(&confidence) {
        return Err(ExperimentError::new(
            places.repeat("confidence"),
            format!("a confidence of {confidence} cannot be"),
            "take 0.5 to below 1, as 0.95",
        ));
    }
    Ok(StopRule {
        // Where the number of trials is given there is nothing to decide.
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
