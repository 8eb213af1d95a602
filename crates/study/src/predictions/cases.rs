//! The predictions of all cases, within a budget of simulated events.

use std::collections::BTreeMap;

use caudal_experiment::{Case, CasePredictions};

use super::formulas::predict_by_formulas;
use super::simulation::simulate_case;
use crate::testbed::Testbed;

/// Maximum number of events (frames and timers) of one simulated case: about two seconds of work.
const MAX_EVENTS_PER_CASE: u64 = 6_000_000;
/// Maximum number of events of all cases of a quick study together.
const MAX_EVENTS_QUICK: u64 = 30_000_000;
/// Maximum number of events of all cases of a full study together.
const MAX_EVENTS_FULL: u64 = 300_000_000;

/// The predictions for all cases by key, and warnings about cases that could not be simulated.
#[must_use]
pub fn predict_cases(
    cases: &[Case],
    testbeds: &[Testbed],
    is_quick: bool,
) -> (BTreeMap<String, CasePredictions>, Vec<String>) {
    let mut all = BTreeMap::new();
    let mut events_left = if is_quick {
        MAX_EVENTS_QUICK
    } else {
        MAX_EVENTS_FULL
    };
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for (case, testbed) in cases.iter().zip(testbeds) {
        // Nothing is known of a real network beyond a description of one like it.
        let Some(network) = testbed.network() else {
            continue;
        };
        let max_events = events_left.min(MAX_EVENTS_PER_CASE);
        let simulated = simulate_case(case, testbed, network, max_events);
        events_left = events_left.saturating_sub(simulated.events);
        let predictions = CasePredictions {
            predicted: predict_by_formulas(case, testbed, network),
            simulated: simulated.metrics.unwrap_or_else(|reason| {
                *reasons.entry(reason).or_insert(0) += 1;
                BTreeMap::new()
            }),
        };
        all.insert(case.key.clone(), predictions);
    }
    let warnings = reasons.into_iter().map(|(reason, count)| {
        let cases = if count == 1 { "case was" } else { "cases were" };
        format!("{count} {cases} not simulated: {reason}")
    });
    (all, warnings.collect())
}

/// The predictions of formulas for all cases, by key.
#[must_use]
pub fn predict_cases_by_formulas(
    cases: &[Case],
    testbeds: &[Testbed],
) -> BTreeMap<String, CasePredictions> {
    let pairs = cases.iter().zip(testbeds);
    let predictions = pairs.filter_map(|(case, testbed)| {
        let predictions = CasePredictions {
            predicted: predict_by_formulas(case, testbed, testbed.network()?),
            simulated: BTreeMap::new(),
        };
        Some((case.key.clone(), predictions))
    });
    predictions.collect()
}
