//! The findings of a single trial: those of a study of one case.

use caudal_experiment::Trial;
use caudal_experiment::expression::metric_unit;
use caudal_experiment::findings::{CaseFindings, FINDINGS_SCHEMA, Findings, MetricFindings};
use caudal_stats::Estimate;

/// The findings of a trial by itself: each metric once, without intervals.
#[must_use]
pub fn trial_findings(trial: &Trial) -> Findings {
    let metrics = trial.metrics.iter().map(|(name, value)| {
        let known = MetricFindings {
            unit: metric_unit(name).map_or("", caudal_core::quantity::Unit::name),
            observed: Some(Estimate::single(*value)),
            values: vec![*value],
            predicted: trial.predicted.get(name).copied(),
            simulated: None,
            published: None,
        };
        (name.clone(), known)
    });
    let case = CaseFindings {
        key: trial.case.clone(),
        title: None,
        parameters: trial.parameters.clone(),
        alone: None,
        n: 1,
        reached: None,
        metrics: metrics.collect(),
        trials: vec![trial.id.clone()],
    };
    // The machines as the first flow that ran reports them.
    let environment = trial
        .flows
        .iter()
        .find_map(|flow| flow.run.as_ref()?.environment.clone());
    let id = |id: &str| id.chars().take(12).collect::<String>();
    Findings {
        schema: FINDINGS_SCHEMA,
        id: trial.id.clone(),
        name: format!("trial {} of study {}", trial.position, id(&trial.study)),
        title: format!("{}, trial {}", trial.case, trial.repeat),
        question: None,
        method: None,
        source: None,
        started: trial.started.clone(),
        command: format!("caudal report show {}", id(&trial.study)),
        seed: 0,
        quick: false,
        complete: true,
        confidence: 0.95,
        trials: 1,
        discarded: u64::from(trial.discarded.is_some()),
        verdict: Vec::new(),
        cases: vec![case],
        expectations: Vec::new(),
        published: Vec::new(),
        contention: Vec::new(),
        tables: Vec::new(),
        figures: Vec::new(),
        conclusions: Vec::new(),
        environment: environment.unwrap_or_default(),
        warnings: Vec::new(),
    }
}
