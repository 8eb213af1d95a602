//! The line of a trial that has ended: its position, its case, and the results of the case so far.

use crate::text::{truncated, within};
use crate::width::LineWidth;
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_experiment::{Case, FlowKindFile, FlowSpec, METRICS, Metric, MetricSubject, Trial};
use caudal_stats::mean_of_trials;
use std::collections::BTreeMap;

/// Maximum width of a case's key.
const MAX_KEY_WIDTH: usize = 34;

/// The lines of the trials of a study.
#[derive(Debug)]
pub struct TrialLines {
    /// The width of keys.
    width: usize,
    /// The words that the keys of all cases share.
    common: Vec<String>,
    /// The confidence level of intervals.
    confidence: f64,
}

impl TrialLines {
    /// The lines of a study with these cases.
    #[must_use]
    pub fn new(cases: &[Case], confidence: f64) -> Self {
        let mut lines = Self {
            width: 0,
            common: common(cases),
            confidence,
        };
        let names = cases.iter().map(|case| lines.distinct_key(&case.key));
        let longest = names.map(|name| name.chars().count()).max();
        lines.width = longest.unwrap_or(0).min(MAX_KEY_WIDTH);
        lines
    }

    /// The key of a case without the words that all cases share.
    #[must_use]
    pub fn distinct_key(&self, key: &str) -> String {
        let words = key.split(' ');
        let rest: Vec<&str> = words
            .filter(|word| !self.common.iter().any(|shared| shared == word))
            .collect();
        if rest.is_empty() {
            key.to_owned()
        } else {
            rest.join(" ")
        }
    }

    /// The same, truncated to the width of keys.
    #[must_use]
    pub fn short_key(&self, key: &str) -> String {
        truncated(&self.distinct_key(key), MAX_KEY_WIDTH).into_owned()
    }

    /// The results of a case whose metrics had these values in its trials so far; of a trial that was discarded the reason.
    #[must_use]
    pub fn results(
        &self,
        (case, trial): (&Case, &Trial),
        values: &BTreeMap<String, Vec<f64>>,
        is_repeated: bool,
    ) -> Vec<String> {
        match &trial.discarded {
            Some(reason) if is_repeated => vec![format!("{reason}: repeated")],
            Some(reason) => vec![format!("{reason}: discarded repeatedly, given up")],
            None => shown_metrics(case)
                .iter()
                .filter_map(|metric| {
                    metric_text(case, metric, values.get(metric)?, self.confidence)
                })
                .collect(),
        }
    }

    /// The line of a trial: its position, its case, its results.
    #[must_use]
    pub fn line(
        &self,
        (position, total): (u64, u64),
        key: &str,
        results: &[String],
        width: LineWidth,
    ) -> String {
        let digits = total.to_string().len();
        let key_width = self.width;
        let head = format!(
            "{position:>digits$}/{total} {:<key_width$}",
            self.distinct_key(key)
        );
        let line = format!("{head}  {}", results.join(", "));
        within(&line, 2 * digits + 2, width)
    }
}

/// The values of parameters that the keys of all cases have in common.
fn common(cases: &[Case]) -> Vec<String> {
    let mut keys = cases.iter().map(|case| case.key.split(' '));
    let first: Vec<String> = keys
        .next()
        .into_iter()
        .flatten()
        .filter(|word| word.contains('='))
        .map(str::to_owned)
        .collect();
    keys.fold(first, |mut shared, words| {
        let words: Vec<&str> = words.collect();
        shared.retain(|word| words.contains(&word.as_str()));
        shared
    })
}

/// The metrics that the line of a trial shows.
fn shown_metrics(case: &Case) -> Vec<String> {
    let mut all = Vec::new();
    for flow in &case.flows {
        let name = &flow.name;
        match flow.kind {
            FlowKindFile::Tcp => all.push(format!("{name}.goodput")),
            FlowKindFile::Udp => all.extend([format!("{name}.goodput"), format!("{name}.loss")]),
            FlowKindFile::Rtt | FlowKindFile::RttUdp => all.push(format!("{name}.rtt")),
            FlowKindFile::File => all.push(format!("{name}.time")),
            FlowKindFile::Path => all.extend(path_metrics(flow)),
        }
    }
    all
}

/// The metrics that the line of a trial shows of a path.
fn path_metrics(flow: &FlowSpec) -> Vec<String> {
    let Some(scope) = flow.path.map(|path| path.measure) else {
        return Vec::new();
    };
    let mut shown = Vec::new();
    if scope.has_links() {
        shown.push("capacity");
    }
    if scope.has_ends() {
        shown.extend(["capacity_up", "capacity_down"]);
    }
    if scope.has_duplex() {
        shown.extend([
            "full_duplex",
            "half_duplex",
            "mismatch_near",
            "mismatch_far",
        ]);
    }
    shown
        .iter()
        .map(|metric| format!("{}.{metric}", flow.name))
        .collect()
}

/// The unit of a metric by its full name.
fn unit(case: &Case, metric: &str) -> Option<Unit> {
    let (subject, name) = metric.rsplit_once('.')?;
    let has_metric = |one: &&Metric| {
        let kind = case
            .flows
            .iter()
            .find(|flow| flow.name == subject)
            .map(|flow| flow.kind);
        match (one.subject, kind) {
            (MetricSubject::Total, _) => subject == "total",
            (MetricSubject::Link, _) => subject.starts_with("links."),
            (MetricSubject::Captured, Some(_))
            | (MetricSubject::Tcp, Some(FlowKindFile::Tcp))
            | (MetricSubject::Udp, Some(FlowKindFile::Udp))
            | (MetricSubject::Traffic, Some(FlowKindFile::Tcp | FlowKindFile::Udp))
            | (MetricSubject::Echo, Some(FlowKindFile::Rtt | FlowKindFile::RttUdp))
            | (MetricSubject::File, Some(FlowKindFile::File))
            | (MetricSubject::Path, Some(FlowKindFile::Path)) => true,
            _ => false,
        }
    };
    METRICS
        .iter()
        .filter(has_metric)
        .find(|one| one.name == name)
        .map(|one| one.unit)
}

/// The mean of a metric over the trials of a case so far: `tcp 94.1 Mbit/s ± 0.3 Mbit/s`.
fn metric_text(case: &Case, metric: &str, values: &[f64], confidence: f64) -> Option<String> {
    let unit = unit(case, metric)?;
    let (subject, name) = metric.rsplit_once('.')?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let value = mean_of_trials(values, confidence)
        .filter(|_| values.len() > 1)
        .map_or_else(
            || unit.show(mean),
            |estimate| EstimateInUnit::new(&estimate, unit).plus_minus(),
        );
    let noun = match name {
        "goodput" => String::new(),
        other => format!(" {other}"),
    };
    (!values.is_empty()).then(|| format!("{subject}{noun} {value}"))
}
