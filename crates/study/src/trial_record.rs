//! A trial as the store has it.

use std::collections::BTreeMap;

use caudal_core::run::{Environment, Machine, RunOutcome};
use caudal_engine::TOOL;
use caudal_experiment::{Case, Trial};
use caudal_store::{RunKind, SampleSeries, StoredDocument, StoredRun, StudyTrial};
use serde_json::json;

use crate::metrics::headline;
use crate::trial::{RoundTripSamples, TrialMeasurements};

/// A trial as the store has it. `experiment` is the name of the experiment, `command` that of the study.
pub(crate) fn stored_trial(
    trial: &Trial,
    case: &Case,
    experiment: &str,
    command: &str,
    measurements: &TrialMeasurements,
    machine: Machine,
) -> StoredRun {
    let mut runs = trial.flows.iter().filter_map(|flow| flow.run.as_ref());
    let ends = runs.find_map(|run| run.environment.clone());
    let environment = Environment {
        machine: Some(machine),
        ..ends.unwrap_or_default()
    };
    let outcome = if trial.is_valid() {
        RunOutcome::Done
    } else {
        RunOutcome::Failed
    };
    StoredRun {
        id: trial.id.clone(),
        kind: RunKind::Trial,
        started_ns: i64::try_from(measurements.zero_ns).unwrap_or(i64::MAX),
        tool: TOOL.into(),
        peer: None,
        title: Some(format!("{experiment}: {}", case.key).into()),
        command: command.into(),
        outcome,
        trial: Some(StudyTrial {
            study: trial.study.clone(),
            case: case.key.clone(),
            repeat: u32::try_from(trial.repeat).unwrap_or(u32::MAX),
            position: u32::try_from(trial.position - 1).unwrap_or(u32::MAX),
            baseline: case.alone.is_some(),
        }),
        part_of: None,
        headline: headline(&trial.flows, &trial.metrics),
        environment,
        document: StoredDocument::Trial(json!(trial).to_string()),
        series: all_series(&measurements.round_trips),
    }
}

/// The samples of all echo flows, by the number of the flow.
fn all_series(round_trips: &BTreeMap<usize, RoundTripSamples>) -> Vec<SampleSeries> {
    let mut all = Vec::new();
    for (nth, samples) in round_trips {
        let mut add = |name: &str, unit: &str, values: &[f64]| {
            if !values.is_empty() {
                all.push(SampleSeries {
                    flow: u32::try_from(*nth).unwrap_or(u32::MAX),
                    name: name.to_owned(),
                    unit: unit.to_owned(),
                    values: values.to_vec(),
                });
            }
        };
        add("rtt", "ns", &samples.rtt_ns);
        add("first", "ns", &samples.first_ns);
        add("at", "s", &samples.at_s);
        // A single connection or size needs no series.
        let varies = |values: &[f64]| values.windows(2).any(|two| two[0] != two[1]);
        if varies(&samples.client) {
            add("client", "", &samples.client);
        }
        if varies(&samples.size) {
            add("size", "B", &samples.size);
        }
    }
    all
}
