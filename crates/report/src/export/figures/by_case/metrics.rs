//! The metrics of a figure, and the cases that have them.

use crate::export::figures::study_material::{StudyMaterial, is_load};
use caudal_experiment::findings::{CaseFindings, MetricFindings};
use caudal_experiment::{FigureFile, FlowKindFile};

/// The metrics of a figure: those it names, else the goodput of every flow, else its round-trip time.
pub fn metrics_of_figure(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> Vec<String> {
    if !figure.metrics.is_empty() {
        return figure.metrics.clone();
    }
    let goodputs = flow_metrics(material, cases, "goodput", is_load);
    if goodputs.is_empty() {
        flow_metrics(material, cases, "rtt", |kind| !is_load(kind))
    } else {
        goodputs
    }
}

/// A quantity of every flow of a kind, where the findings on a case have it.
fn flow_metrics(
    material: &StudyMaterial<'_>,
    cases: &[&CaseFindings],
    quantity: &str,
    is_of_kind: fn(FlowKindFile) -> bool,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for flow in material.trials.iter().flat_map(|trial| &trial.flows) {
        let name = format!("{}.{quantity}", flow.name);
        let is_known = || cases.iter().any(|case| case.metrics.contains_key(&name));
        if is_of_kind(flow.kind) && !names.contains(&name) && is_known() {
            names.push(name);
        }
    }
    names
}

/// The cases that have a value of a metric, with the findings on it.
pub fn cases_with_metric<'a>(
    cases: &[&'a CaseFindings],
    metric: &str,
) -> Vec<(&'a CaseFindings, &'a MetricFindings)> {
    cases
        .iter()
        .filter_map(|case| Some((*case, case.metrics.get(metric)?)))
        .filter(|(_, known)| {
            known.observed.is_some()
                || known.predicted.is_some()
                || known.simulated.is_some()
                || known.published.is_some()
        })
        .collect()
}

/// A value with which the observed one is compared.
pub type ExpectedValue = fn(&MetricFindings) -> Option<f64>;
