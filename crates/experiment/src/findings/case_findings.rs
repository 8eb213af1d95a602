//! The metrics of each case over its trials, with their predictions and published values.

use super::format::{UnitName, unit_name};
use crate::campaign::{Campaign, RepetitionStatus};
use crate::case::Case;
use crate::expression::{Expression, metric_unit};
use crate::file::{FlowKindFile, PublishedFile};
use crate::scalar::Scalar;
use crate::trial::Trial;
use caudal_stats::contention::harm;
use caudal_stats::{Estimate, mean_of_trials, ratio_interval};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The predictions of a case, by the full names of metrics, in base units.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CasePredictions {
    /// The predictions of formulas.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub predicted: BTreeMap<String, f64>,
    /// The results of the simulation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub simulated: BTreeMap<String, f64>,
}

/// A case over all its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseFindings {
    /// The key.
    pub key: String,
    /// The title, one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The value of every parameter, in the order of the experiment.
    pub parameters: Vec<(String, Scalar)>,
    /// The flow of a solo baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
    /// The number of valid trials.
    pub n: u64,
    /// `true` when the error goal is reached; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<bool>,
    /// The metrics over the trials, by their full names.
    pub metrics: BTreeMap<String, MetricFindings>,
    /// The ids of the valid trials, in the order of execution.
    pub trials: Vec<String>,
}

/// A metric of a case over its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricFindings {
    /// Its base unit; empty for a metric that this program does not know.
    #[serde(deserialize_with = "unit_name")]
    pub unit: UnitName,
    /// The mean over the trials with its interval; of one trial its value without an interval. Absent where no trial has the metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Estimate>,
    /// The value of each trial, in the order of execution.
    pub values: Vec<f64>,
    /// The prediction of formulas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<f64>,
    /// The result of the simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<f64>,
    /// The published value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

impl CaseFindings {
    /// The estimate of a metric.
    #[must_use]
    pub fn observed(&self, metric: &str) -> Option<&Estimate> {
        self.metrics.get(metric)?.observed.as_ref()
    }

    /// The findings of the cases of a campaign, in its order.
    pub(super) fn of_campaign(
        campaign: &Campaign,
        trials: &[Trial],
        predictions: &BTreeMap<String, CasePredictions>,
    ) -> Vec<Self> {
        let mut cases: Vec<Self> = campaign
            .cases
            .iter()
            .map(|case| Self::of_case(campaign, case, trials, predictions.get(&case.key)))
            .collect();
        for (index, case) in campaign.cases.iter().enumerate() {
            for (flow, key) in &case.baselines {
                if let Some(harm) = harm_to(campaign, &cases, index, flow, key) {
                    cases[index].metrics.insert(format!("{flow}.harm"), harm);
                }
            }
        }
        for published in &campaign.experiment.published {
            let Some(value) = published.value.as_ref().and_then(Scalar::number) else {
                continue;
            };
            for index in cases_published(campaign, published) {
                cases[index].metric(&published.metric).published = Some(value);
            }
        }
        cases
    }

    /// The findings of one case.
    fn of_case(
        campaign: &Campaign,
        case: &Case,
        trials: &[Trial],
        predictions: Option<&CasePredictions>,
    ) -> Self {
        let valid: Vec<&Trial> = trials
            .iter()
            .filter(|trial| trial.case == case.key && trial.is_valid())
            .collect();
        let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut predicted: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
        for trial in &valid {
            for (name, value) in &trial.metrics {
                if value.is_finite() {
                    values.entry(name.clone()).or_default().push(*value);
                }
            }
            for (name, value) in &trial.predicted {
                predicted.entry(name).or_default().push(*value);
            }
        }
        let n = valid.len() as u64;
        let reached = campaign.rule.relative_error.is_finite().then(|| {
            n > 0 && campaign.repetition_status(case, n, &values) == RepetitionStatus::Reached
        });
        let mut findings = Self {
            key: case.key.clone(),
            title: case.title.clone(),
            parameters: case.parameters.clone(),
            alone: case.alone.clone(),
            n,
            reached,
            metrics: BTreeMap::new(),
            trials: valid.iter().map(|trial| trial.id.clone()).collect(),
        };
        for (name, values) in values {
            let metric = findings.metric(&name);
            metric.observed = mean_of_trials(&values, campaign.rule.confidence);
            metric.values = values;
        }
        for (name, values) in predicted {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            findings.metric(name).predicted = Some(mean).filter(|mean| mean.is_finite());
        }
        if let Some(predictions) = predictions {
            for (name, value) in &predictions.predicted {
                findings.metric(name).predicted = Some(*value).filter(|value| value.is_finite());
            }
            for (name, value) in &predictions.simulated {
                findings.metric(name).simulated = Some(*value).filter(|value| value.is_finite());
            }
        }
        findings
    }

    /// The entry of a metric, added where there is none.
    fn metric(&mut self, name: &str) -> &mut MetricFindings {
        self.metrics
            .entry(name.to_owned())
            .or_insert_with(|| MetricFindings {
                unit: metric_unit(name).map_or("", |unit| unit.name()),
                observed: None,
                values: Vec::new(),
                predicted: None,
                simulated: None,
                published: None,
            })
    }
}

/// The indices of the cases of the matrix that a published value is about.
pub(super) fn cases_published(campaign: &Campaign, published: &PublishedFile) -> Vec<usize> {
    let named = published.case.as_ref().map(|case| {
        let named = campaign.find_cases(case);
        if named.is_empty() {
            cases_where(campaign, Some(case))
        } else {
            named
        }
    });
    let mut cases = named.unwrap_or_else(|| cases_where(campaign, None));
    let fitting = cases_where(campaign, published.when.as_deref());
    cases.retain(|index| {
        let case = &campaign.cases[*index];
        let flow = published.metric.split('.').next().unwrap_or_default();
        fitting.contains(index)
            && (matches!(flow, "total" | "links")
                || case.flows.iter().any(|known| known.name == flow))
    });
    cases
}

/// The indices of the cases of the matrix for whose parameters a condition holds; of all without one.
pub(super) fn cases_where(campaign: &Campaign, when: Option<&str>) -> Vec<usize> {
    let when = when.map(Expression::condition);
    let fits = |case: &Case| match &when {
        None => true,
        Some(Ok(when)) => when.holds_for(&case.parameters) == Ok(true),
        Some(Err(_)) => false,
    };
    (0..campaign.cases.len())
        .filter(|index| campaign.cases[*index].alone.is_none() && fits(&campaign.cases[*index]))
        .collect()
}

/// The harm to a flow: the share of its solo goodput that it loses. The interval accounts for the spread of both goodputs.
///
/// `None` where either is missing, and where the case is its own baseline.
fn harm_to(
    campaign: &Campaign,
    cases: &[CaseFindings],
    index: usize,
    flow: &str,
    baseline: &str,
) -> Option<MetricFindings> {
    let alone = campaign
        .cases
        .iter()
        .position(|case| case.key == baseline)?;
    if alone == index {
        return None;
    }
    let name = format!("{flow}.goodput");
    let together = &cases[index].metrics.get(&name)?.values;
    let alone = &cases[alone].metrics.get(&name)?.values;
    if together.is_empty() || alone.is_empty() {
        return None;
    }
    let solo = alone.iter().sum::<f64>() / alone.len() as f64;
    let values: Vec<f64> = together
        .iter()
        .filter_map(|value| harm(solo, *value))
        .collect();
    let observed = match ratio_interval(together, alone, campaign.rule.confidence) {
        Some(ratio) => Some(Estimate {
            mean: 1.0 - ratio.mean,
            low: 1.0 - ratio.high,
            high: 1.0 - ratio.low,
            ..ratio
        }),
        None => {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            mean.is_finite().then(|| Estimate::single(mean))
        }
    };
    Some(MetricFindings {
        unit: "share",
        observed,
        values,
        predicted: None,
        simulated: None,
        published: None,
    })
}

/// The full names of the metrics that a table has unless its file names others.
pub(super) fn default_metrics(campaign: &Campaign) -> Vec<String> {
    let mut names = Vec::new();
    let mut loads = BTreeSet::new();
    for flow in &campaign.experiment.flow {
        let (metric, second) = match flow.kind {
            FlowKindFile::Tcp => ("goodput", None),
            FlowKindFile::Udp => ("goodput", Some("loss")),
            FlowKindFile::Rtt | FlowKindFile::RttUdp => ("rtt", None),
            FlowKindFile::File => ("time", Some("goodput")),
            FlowKindFile::Path => ("capacity", None),
        };
        let metrics = std::iter::once(metric).chain(second);
        names.extend(metrics.map(|metric| format!("{}.{metric}", flow.name)));
        if flow.baseline == Some(true) && matches!(flow.kind, FlowKindFile::Tcp | FlowKindFile::Udp)
        {
            names.push(format!("{}.harm", flow.name));
        }
        if flow.probe != Some(true) && matches!(flow.kind, FlowKindFile::Tcp | FlowKindFile::Udp) {
            loads.insert(&flow.name);
        }
    }
    if loads.len() > 1 {
        names.push("total.goodput".to_owned());
        names.push("total.jain".to_owned());
    }
    names
}
