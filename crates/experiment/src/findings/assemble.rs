//! Findings from the trials of a study.

use std::collections::BTreeMap;

use super::case_findings::{CaseFindings, CasePredictions};
use super::conclusion::draw_conclusions;
use super::expectation::check_expectations;
use super::figure::figures;
use super::findings::{FINDINGS_SCHEMA, Findings, StudyHeader};
use super::lookup::StudyLookup;
use super::published::compare_published;
use super::starvation::find_starvation;
use super::table::tables;
use super::verdict::verdict;
use crate::campaign::Campaign;
use crate::trial::Trial;

impl Findings {
    /// The findings of a study from its trials, of which some or all may be missing; `predictions` are by the keys of the cases.
    #[must_use]
    pub fn assemble(
        campaign: &Campaign,
        study: &StudyHeader,
        trials: &[Trial],
        predictions: &BTreeMap<String, CasePredictions>,
    ) -> Self {
        let cases = CaseFindings::of_campaign(campaign, trials, predictions);
        let starvation = find_starvation(campaign, &cases);
        let lookup = StudyLookup {
            campaign,
            cases: &cases,
            starvation: &starvation,
        };
        let valid = trials.iter().filter(|trial| trial.is_valid()).count();
        let experiment = &campaign.experiment;
        let mut findings = Self {
            schema: FINDINGS_SCHEMA,
            id: study.id.clone(),
            name: study.name.clone(),
            title: experiment.title.clone(),
            question: experiment.question.clone(),
            method: experiment.method.clone(),
            source: experiment.source.clone(),
            started: study.started.clone(),
            command: study.command.clone(),
            seed: campaign.seed,
            quick: campaign.quick,
            complete: study.complete,
            confidence: campaign.rule.confidence,
            trials: valid as u64,
            discarded: (trials.len() - valid) as u64,
            verdict: Vec::new(),
            expectations: check_expectations(&lookup),
            published: compare_published(&lookup),
            tables: tables(campaign, &cases),
            figures: figures(campaign),
            conclusions: draw_conclusions(&lookup),
            contention: starvation.clone(),
            cases: cases.clone(),
            environment: study.environment.clone(),
            warnings: study.warnings.clone(),
        };
        findings.verdict = verdict(campaign, &findings);
        findings
    }
}
