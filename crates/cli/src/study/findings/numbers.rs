//! Each metric of each case over its trials, with what was expected and published of it.

use std::collections::{BTreeMap, BTreeSet};

use caudal_experiment::expression::{Expression, metric_unit};
use caudal_experiment::{Campaign, Case, PublishedFile, RepetitionStatus, Scalar};
use caudal_stats::contention::harm;
use caudal_stats::{Estimate, mean_interval, ratio_interval};

use super::{CaseFindings, Forecast, MetricFindings};
use crate::study::trial::Trial;

/// The cases of a campaign with their numbers, in its order.
pub(super) struct Numbers {
    pub cases: Vec<CaseFindings>,
}

impl Numbers {
    pub fn of(
        campaign: &Campaign,
        trials: &[Trial],
        forecasts: &BTreeMap<String, Forecast>,
    ) -> Self {
        let mut cases: Vec<CaseFindings> = campaign
            .cases
            .iter()
            .map(|case| of_case(campaign, case, trials, forecasts.get(&case.key)))
            .collect();
        for (index, case) in campaign.cases.iter().enumerate() {
            for (flow, key) in &case.baselines {
                if let Some(harm) = harm_of(campaign, &cases, index, flow, key) {
                    cases[index].metrics.insert(format!("{flow}.harm"), harm);
                }
            }
        }
        for published in &campaign.experiment.published {
            let Some(value) = published.value.as_ref().and_then(Scalar::number) else {
                continue;
            };
            for index in cases_published(campaign, published) {
                metric(&mut cases[index], &published.metric).published = Some(value);
            }
        }
        Self { cases }
    }

    /// What was observed of a metric in a case.
    pub fn observed(&self, case: usize, metric: &str) -> Option<&Estimate> {
        self.cases[case].metrics.get(metric)?.observed.as_ref()
    }
}

/// The measured cases a published value is about.
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

/// The cases of the matrix for whose parameters an expression holds; all without one.
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

fn metric<'a>(case: &'a mut CaseFindings, name: &str) -> &'a mut MetricFindings {
    case.metrics
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

/// The mean with its interval; of a single value no interval can be made.
fn estimate(values: &[f64], confidence: f64) -> Option<Estimate> {
    match values {
        [value] if value.is_finite() => Some(Estimate::single(*value)),
        values => mean_interval(values, confidence),
    }
}

fn of_case(
    campaign: &Campaign,
    case: &Case,
    trials: &[Trial],
    forecast: Option<&Forecast>,
) -> CaseFindings {
    let counted: Vec<&Trial> = trials
        .iter()
        .filter(|trial| trial.case == case.key && trial.spoiled.is_none())
        .collect();
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut foreseen: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for trial in &counted {
        for (name, value) in &trial.metrics {
            if value.is_finite() {
                values.entry(name.clone()).or_default().push(*value);
            }
        }
        for (name, value) in &trial.predicted {
            foreseen.entry(name).or_default().push(*value);
        }
    }
    let n = counted.len() as u64;
    let reached = campaign.rule.relative_error.is_finite().then(|| {
        n > 0 && campaign.repetition_status(case, n, &values) == RepetitionStatus::Reached
    });
    let mut findings = CaseFindings {
        key: case.key.clone(),
        title: case.title.clone(),
        parameters: case.parameters.clone(),
        alone: case.alone.clone(),
        n,
        reached,
        metrics: BTreeMap::new(),
        trials: counted.iter().map(|trial| trial.id.clone()).collect(),
    };
    for (name, values) in values {
        let metric = metric(&mut findings, &name);
        metric.observed = estimate(&values, campaign.rule.confidence);
        metric.values = values;
    }
    for (name, values) in foreseen {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        metric(&mut findings, name).predicted = Some(mean).filter(|mean| mean.is_finite());
    }
    if let Some(forecast) = forecast {
        for (name, value) in &forecast.predicted {
            metric(&mut findings, name).predicted = Some(*value).filter(|value| value.is_finite());
        }
        for (name, value) in &forecast.simulated {
            metric(&mut findings, name).simulated = Some(*value).filter(|value| value.is_finite());
        }
    }
    findings
}

/// The harm to a flow: what it lost of what it has alone. Its interval knows the spread of both.
///
/// `None` where either is missing, and where the flow is alone in the case itself.
fn harm_of(
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

/// The metrics of a case's flows that are worth a column, by their full names.
pub(super) fn usual_metrics(campaign: &Campaign) -> Vec<String> {
    use caudal_experiment::FlowKindFile;
    let mut names = Vec::new();
    let mut loads = BTreeSet::new();
    for flow in &campaign.experiment.flow {
        let metrics: &[&str] = match flow.kind {
            FlowKindFile::Tcp => &["goodput"],
            FlowKindFile::Udp => &["goodput", "loss"],
            FlowKindFile::Rtt | FlowKindFile::RttUdp => &["rtt"],
        };
        names.extend(
            metrics
                .iter()
                .map(|metric| format!("{}.{metric}", flow.name)),
        );
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
