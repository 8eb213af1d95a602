//! The goodput over repeated runs.

use caudal_stats::{Estimate, mean_of_trials};

/// The goodput over repeated runs, from the mean of each.
#[must_use]
pub fn over_repeats(means: &[f64], confidence: f64) -> Option<Estimate> {
    mean_of_trials(means, confidence)
}
