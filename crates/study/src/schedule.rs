//! The schedule of a study: the trials that are still needed.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_experiment::{Case, RepetitionStatus, Trial};

use crate::prepared::PreparedExperiment;

/// The schedule of a study, from its trials so far.
pub(crate) struct TrialSchedule<'a> {
    pub(crate) prepared: &'a PreparedExperiment,
    pub(crate) trials: &'a [Trial],
}

impl<'a> TrialSchedule<'a> {
    /// The valid trials of the case with this key.
    fn valid(&self, key: &'a str) -> impl Iterator<Item = &'a Trial> {
        self.trials
            .iter()
            .filter(move |trial| trial.case == key && trial.is_valid())
    }

    /// The number of valid trials of a case.
    pub(crate) fn count_valid(&self, key: &'a str) -> u64 {
        self.valid(key).count() as u64
    }

    /// The values of each metric in the valid trials of a case.
    pub(crate) fn values(&self, key: &'a str) -> BTreeMap<String, Vec<f64>> {
        let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for trial in self.valid(key) {
            for (name, value) in &trial.metrics {
                all.entry(name.clone()).or_default().push(*value);
            }
        }
        all
    }

    /// The number of rounds of a case that are complete.
    pub(crate) fn rounds_complete(&self, key: &str) -> u64 {
        let own = self.trials.iter().filter(|trial| trial.case == key);
        rounds_complete(
            own.map(|trial| (trial.repeat, trial.is_valid())),
            self.prepared.campaign.retries,
        )
    }

    /// `true` when a case needs a trial in this round.
    pub(crate) fn is_due(&self, case: &'a Case, round: u64) -> bool {
        if self.rounds_complete(&case.key) >= round {
            return false;
        }
        let status = self.prepared.campaign.repetition_status(
            case,
            self.count_valid(&case.key),
            &self.values(&case.key),
        );
        status == RepetitionStatus::Incomplete
    }

    /// The minimum number of trials that are still needed, and the time that they take.
    pub(crate) fn remaining(&self) -> (u64, Duration) {
        let mut trials = 0;
        let mut time = Duration::ZERO;
        for (index, case) in self.prepared.campaign.cases.iter().enumerate() {
            let complete = self.rounds_complete(&case.key);
            let mut due = self.prepared.campaign.rule.min.saturating_sub(complete);
            if due == 0 && self.is_due(case, complete + 1) {
                due = 1;
            }
            trials += due;
            time += self.prepared.trial_time(index) * u32::try_from(due).unwrap_or(u32::MAX);
        }
        (trials, time)
    }
}

/// The number of complete rounds, from trials with their rounds and whether they are valid: rounds with a valid trial, and those
/// given up because more than `retries` trials were discarded.
fn rounds_complete(trials: impl Iterator<Item = (u64, bool)>, retries: u64) -> u64 {
    let mut rounds: BTreeMap<u64, (bool, u64)> = BTreeMap::new();
    for (round, is_valid) in trials {
        let (has_valid, discarded) = rounds.entry(round).or_default();
        *has_valid |= is_valid;
        *discarded += u64::from(!is_valid);
    }
    rounds
        .values()
        .filter(|(has_valid, discarded)| *has_valid || *discarded > retries)
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discarded_trial_is_repeated_until_one_is_valid_or_its_round_is_given_up() {
        let complete =
            |trials: &[(u64, bool)], retries| rounds_complete(trials.iter().copied(), retries);
        assert_eq!(complete(&[], 3), 0);
        assert_eq!(complete(&[(1, false)], 3), 0);
        assert_eq!(complete(&[(1, false), (1, true)], 3), 1);
        assert_eq!(complete(&[(1, false), (1, false), (1, false)], 3), 0);
        assert_eq!(
            complete(&[(1, false), (1, false), (1, false), (1, false)], 3),
            1
        );
        assert_eq!(complete(&[(1, false)], 0), 1);
        assert_eq!(complete(&[(1, true), (2, false)], 3), 1);
    }
}
