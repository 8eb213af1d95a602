//! The material of the figures of a study: its findings, trials and samples.

use crate::export::wording;
use caudal_experiment::expression::Expression;
use caudal_experiment::findings::{CaseFindings, Findings};
use caudal_experiment::{FigureFile, FlowKindFile, Trial, TrialFlow};
use caudal_stats::median;
use caudal_store::SampleSeries;

/// The material of the figures of a study.
pub struct StudyMaterial<'a> {
    /// The findings.
    pub findings: &'a Findings,
    /// All trials.
    pub trials: &'a [Trial],
    /// The raw samples of a trial, by its id.
    pub series: &'a dyn Fn(&str) -> Vec<SampleSeries>,
}

impl<'a> StudyMaterial<'a> {
    /// The cases of a figure: those that meet its condition, without solo baselines unless there is nothing else.
    ///
    /// # Errors
    /// The reason why the condition cannot be evaluated.
    pub fn cases(&self, figure: &FigureFile) -> Result<Vec<&'a CaseFindings>, String> {
        let condition = figure
            .when
            .as_deref()
            .map(Expression::parse)
            .transpose()
            .map_err(|error| format!("its condition {:?}: {}", figure.when, error.problem))?;
        let all = || self.findings.cases.iter();
        let any = all().any(|case| case.alone.is_none());
        Ok(all()
            .filter(|case| case.alone.is_none() || !any)
            .filter(|case| {
                condition
                    .as_ref()
                    .is_none_or(|when| when.holds_for(&case.parameters).unwrap_or(false))
            })
            .collect())
    }

    /// The valid trials of a case.
    pub fn trials_of(&self, case: &CaseFindings) -> Vec<&'a Trial> {
        self.trials
            .iter()
            .filter(|trial| trial.case == case.key && trial.discarded.is_none())
            .collect()
    }

    /// The trial shown for its case, the one nearest the case's medians, and a sentence on its choice.
    pub fn typical(&self, case: &CaseFindings) -> Option<(&'a Trial, String)> {
        let trials = self.trials_of(case);
        let first = *trials.first()?;
        let metrics = main_metrics(first);
        let off = |trial: &Trial| -> f64 {
            metrics
                .iter()
                .filter_map(|metric| {
                    let all: Vec<f64> = trials
                        .iter()
                        .filter_map(|trial| trial.metrics.get(metric).copied())
                        .collect();
                    let median = median(&all)?;
                    let value = trial.metrics.get(metric)?;
                    let scale = all.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
                    (scale > 0.0).then(|| (value - median).abs() / scale)
                })
                .sum()
        };
        let chosen = trials
            .iter()
            .min_by(|a, b| off(a).total_cmp(&off(b)))
            .copied()?;
        let how = if trials.len() == 1 {
            "The only trial of this case.".to_owned()
        } else {
            let names: Vec<String> = metrics.iter().map(|name| wording::metric(name)).collect();
            format!(
                "Trial {} of {}, the one nearest the case's median{}.",
                chosen.repeat,
                trials.len(),
                if names.is_empty() {
                    String::new()
                } else {
                    format!(" of {}", wording::list(&names))
                }
            )
        };
        Some((chosen, how))
    }
}

/// The metrics by which trials are compared: the goodput of each flow, or its round-trip time.
fn main_metrics(trial: &Trial) -> Vec<String> {
    let load = trial.flows.iter().any(|flow| is_load(flow.kind));
    trial
        .flows
        .iter()
        .filter(|flow| is_load(flow.kind) == load)
        .map(|flow| format!("{}.{}", flow.name, if load { "goodput" } else { "rtt" }))
        .filter(|name| trial.metrics.contains_key(name))
        .collect()
}

/// `true` for a bulk flow, `false` for one of round trips.
pub const fn is_load(kind: FlowKindFile) -> bool {
    matches!(kind, FlowKindFile::Tcp | FlowKindFile::Udp)
}

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
