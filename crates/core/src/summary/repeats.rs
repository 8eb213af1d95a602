//! The goodput over repeated runs.

use caudal_stats::{Estimate, mean_interval};

/// The goodput over repeated runs, from the mean of each.
#[must_use]
pub fn over_repeats(means: &[f64], confidence: f64) -> Option<Estimate> {
    match means {
        [] => None,
        [one] => Some(Estimate::single(*one)),
        many => mean_interval(many, confidence),
    }
}
