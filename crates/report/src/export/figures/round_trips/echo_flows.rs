//! The echo flows of trials.

use crate::export::figures::study_material::{StudyMaterial, is_load};
use caudal_experiment::findings::CaseFindings;
use caudal_experiment::{Trial, TrialFlow};

/// The echo flows of a trial with their numbers.
pub fn echo_flows(trial: &Trial) -> Vec<(u32, &TrialFlow)> {
    let numbered = (0_u32..).zip(&trial.flows);
    numbered.filter(|(_, flow)| !is_load(flow.kind)).collect()
}

/// The cases that have echo flows.
pub fn cases_with_echoes<'a>(
    material: &StudyMaterial<'_>,
    cases: &[&'a CaseFindings],
) -> Vec<&'a CaseFindings> {
    let has_echoes = |case: &&CaseFindings| {
        let trials = material.trials_of(case);
        trials.iter().any(|trial| !echo_flows(trial).is_empty())
    };
    cases.iter().copied().filter(has_echoes).collect()
}
