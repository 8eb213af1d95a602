//! A campaign: the cases of an experiment, and the order and number of their trials.

use crate::case::{Case, is_named_by};
use crate::file::{ExperimentFile, FlowKindFile};
use caudal_stats::random::SplitMix64;
use caudal_stats::{StopDecision, StopRule};
use std::collections::BTreeMap;

/// Maximum number of cases of an experiment, solo baselines included.
pub const MAX_CASES: usize = 10_000;

/// The default minimum number of trials of a case.
pub(crate) const MIN_TRIALS: u64 = 3;

/// The default minimum with an error goal: with fewer, stopping on a few lucky trials makes the interval contain the true value
/// less often than its confidence claims.
pub(crate) const MIN_TRIALS_WITH_ERROR_GOAL: u64 = 10;

/// The default maximum number of trials with an error goal.
pub(crate) const MAX_TRIALS_WITH_ERROR_GOAL: u64 = 30;

/// An experiment with its matrix unfolded, and checked as far as possible without its network.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    /// The file, with the overrides of `--set` and `--quick` applied.
    pub experiment: ExperimentFile,
    /// `true` for the quick variant.
    pub quick: bool,
    /// The random seed.
    pub seed: u64,
    /// All cases: those of the matrix in the order of the file, then the solo baselines.
    pub cases: Vec<Case>,
    /// The rule by which the trials of a case stop; `relative_error` is infinite without an error goal.
    pub rule: StopRule,
    /// The maximum number of times a trial is repeated in which the emulator stalled.
    pub retries: u64,
}

/// The variant of an experiment to unfold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// As written.
    Full,
    /// With the changes made by `--quick`.
    Quick,
}

/// The progress of the trials of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepetitionStatus {
    /// Another trial is needed.
    Incomplete,
    /// There are enough trials, and every metric has reached the error goal.
    Reached,
    /// The maximum number of trials was made, and some metric has not reached the error goal.
    GaveUp,
}

impl Campaign {
    /// The cases of a round in random order, each once: a block of a randomized block design. Rounds count from 1.
    ///
    /// The order is always the same for the same seed and number of cases. Each order is equally likely: a Fisher–Yates shuffle with
    /// SplitMix64 (Steele, Lea, Flood 2014), with rejection of draws that would bias it.
    #[must_use]
    pub fn block(&self, round: u64) -> Vec<usize> {
        // The numbers of a round must not be those of the next one, shifted by one.
        let seed = SplitMix64::new(self.seed).next_u64();
        let mut rng = SplitMix64::new(seed.wrapping_add(round.wrapping_mul(0xD1B5_4A32_D192_ED03)));
        let mut order: Vec<usize> = (0..self.cases.len()).collect();
        for last in (1..order.len()).rev() {
            let other = rng.below(last as u64 + 1) as usize;
            order.swap(last, other);
        }
        order
    }

    /// The progress of a case after `trials` valid trials, given the values of each metric in them.
    ///
    /// It takes at least `min` trials. With an error goal, trials continue until the interval of every metric of `repeat.of` is narrow
    /// enough with and without the last trial, or `max` times. A metric without values in any trial is ignored.
    #[must_use]
    pub fn repetition_status(
        &self,
        case: &Case,
        trials: u64,
        values: &BTreeMap<String, Vec<f64>>,
    ) -> RepetitionStatus {
        if trials < self.rule.min {
            return RepetitionStatus::Incomplete;
        }
        let is_reached = !self.rule.relative_error.is_finite()
            || self.metrics_to_estimate(case).iter().all(|metric| {
                values.get(metric).is_none_or(|values| {
                    let decision = self.rule.decide(values);
                    values.is_empty() || matches!(decision, StopDecision::Reached { .. })
                })
            });
        if is_reached {
            RepetitionStatus::Reached
        } else if trials >= self.rule.max {
            RepetitionStatus::GaveUp
        } else {
            RepetitionStatus::Incomplete
        }
    }

    /// The metrics with an error goal in a case: those of `repeat.of` that it has, otherwise the goodput of every flow and the
    /// round-trip time of echo flows.
    #[must_use]
    pub fn metrics_to_estimate(&self, case: &Case) -> Vec<String> {
        let of = &self.experiment.repeat.of;
        if of.is_empty() {
            let defaults = case.flows.iter().map(|flow| match flow.kind {
                FlowKindFile::Tcp | FlowKindFile::Udp => format!("{}.goodput", flow.name),
                FlowKindFile::Rtt | FlowKindFile::RttUdp => format!("{}.rtt", flow.name),
                FlowKindFile::File => format!("{}.time", flow.name),
                FlowKindFile::Path => format!("{}.capacity", flow.name),
            });
            return defaults.collect();
        }
        let has = |metric: &&String| {
            let flow = metric.split('.').next().unwrap_or_default();
            let is_no_flow = matches!(flow, "total" | "links");
            is_no_flow || case.flows.iter().any(|known| known.name == flow)
        };
        of.iter().filter(has).cloned().collect()
    }

    /// The indices of the cases that a text names: by key or name, or by words `parameter=value`, alone or after the name.
    #[must_use]
    pub fn find_cases(&self, text: &str) -> Vec<usize> {
        let exact = self.cases.iter().position(|case| case.key == text);
        if let Some(exact) = exact {
            return vec![exact];
        }
        let named = |case: &Case| {
            case.alone.is_none()
                && is_named_by(text, &case.key, case.name.as_deref(), &case.parameters)
        };
        (0..self.cases.len())
            .filter(|index| named(&self.cases[*index]))
            .collect()
    }

    /// The case with this key.
    #[must_use]
    pub fn case(&self, key: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.key == key)
    }
}
