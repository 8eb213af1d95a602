//! Runs and studies as one CSV table: a row for each value, with everything that distinguishes it from others.

use super::value_table::{ValueRow, ValueTable};
use crate::kinds::kind_report;
use crate::round_trip_series::round_trip_series;
use crate::timeline::quantities::{
    bytes, cwnd_bytes, datagrams, goodput_bps, jitter_s, lost, reordered, retransmits, rtt_s,
};
use crate::timeline::{FlowTimeline, end_of, flows_of_run, flows_of_trial};
use caudal_core::interval::Interval;
use caudal_core::plan::Direction;
use caudal_core::run::Run;
use caudal_experiment::Scalar;
use caudal_experiment::Trial;
use caudal_experiment::findings::{Findings, MetricFindings};
use caudal_store::SampleSeries;

/// The name of a flow and of its metric: those of `tcp.goodput` are `tcp` and `goodput`.
fn flow_and_metric(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}

/// The values of a study: every estimate, every trial's metrics, every interval.
#[must_use]
pub fn study_values(findings: &Findings, trials: &[Trial]) -> String {
    let names = parameter_names(findings, trials);
    let mut table = ValueTable::new(&names);
    for case in &findings.cases {
        let parameters = parameter_values(&names, &case.parameters);
        for (name, metric_findings) in &case.metrics {
            let (flow, metric) = flow_and_metric(name);
            let row = ValueRow {
                id: &findings.id,
                case: &case.key,
                alone: case.alone.as_deref().unwrap_or(""),
                flow,
                metric,
                unit: metric_findings.unit,
                parameters: &parameters,
                ..ValueRow::default()
            };
            push_metric(&mut table, &row, metric_findings);
        }
    }
    for trial in trials {
        let parameters = parameter_values(&names, &trial.parameters);
        let row = ValueRow {
            id: &findings.id,
            case: &trial.case,
            alone: trial.alone.as_deref().unwrap_or(""),
            trial: &trial.id,
            repeat: Some(trial.repeat),
            discarded: Some(trial.discarded.is_some()),
            parameters: &parameters,
            ..ValueRow::default()
        };
        push_trial(&mut table, &row, trial, findings);
    }
    table.into_text()
}

/// The parameters of all cases and trials, in their order.
fn parameter_names(findings: &Findings, trials: &[Trial]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let of_cases = findings.cases.iter().map(|case| &case.parameters);
    let of_trials = trials.iter().map(|trial| &trial.parameters);
    for (name, _) in of_cases.chain(of_trials).flatten() {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// The values of the parameters of these names; empty for one that is not set.
fn parameter_values(names: &[String], parameters: &[(String, Scalar)]) -> Vec<String> {
    let find = |name: &String| parameters.iter().find(|(known, _)| known == name);
    let text = |name| find(name).map_or(String::new(), |(_, value)| value.to_string());
    names.iter().map(text).collect()
}

/// Adds the estimate of a metric, its predictions and its published value.
fn push_metric(table: &mut ValueTable, row: &ValueRow<'_>, findings: &MetricFindings) {
    if let Some(estimate) = &findings.observed {
        let row = ValueRow {
            kind: "estimate",
            ..row.clone()
        };
        table.push(&row.with_estimate(estimate));
    }
    for (kind, value) in [
        ("predicted", findings.predicted),
        ("simulated", findings.simulated),
        ("published", findings.published),
    ] {
        table.push(&ValueRow {
            kind,
            value: value.unwrap_or(f64::NAN),
            ..row.clone()
        });
    }
}

/// Adds the metrics and the intervals of a trial.
fn push_trial(table: &mut ValueTable, row: &ValueRow<'_>, trial: &Trial, findings: &Findings) {
    let unit = |name: &String| {
        let mut cases = findings.cases.iter();
        let known = cases.find_map(|case| case.metrics.get(name));
        known.map_or("", |known| known.unit)
    };
    for (name, value) in &trial.metrics {
        let (flow, metric) = flow_and_metric(name);
        table.push(&ValueRow {
            kind: "trial",
            flow,
            metric,
            unit: unit(name),
            value: *value,
            ..row.clone()
        });
    }
    for flow in flows_of_trial(trial) {
        push_intervals(table, row, &flow);
    }
}

/// A quantity of an interval: metric, unit and value.
type IntervalQuantity = (&'static str, &'static str, fn(&Interval) -> Option<f64>);

/// The quantities of an interval that have rows.
const INTERVAL_QUANTITIES: [IntervalQuantity; 9] = [
    ("bytes", "bytes", bytes),
    ("goodput", "bit/s", goodput_bps),
    ("rtt", "s", rtt_s),
    ("cwnd", "bytes", cwnd_bytes),
    ("retransmits", "segments", retransmits),
    ("datagrams", "datagrams", datagrams),
    ("lost", "datagrams", lost),
    ("reordered", "datagrams", reordered),
    ("jitter", "s", jitter_s),
];

fn push_intervals(table: &mut ValueTable, row: &ValueRow<'_>, flow: &FlowTimeline) {
    for interval in &flow.intervals {
        for (metric, unit, quantity) in INTERVAL_QUANTITIES {
            table.push(&ValueRow {
                kind: "interval",
                flow: &flow.name,
                metric,
                unit,
                start_s: Some(interval.start_s),
                end_s: Some(interval.end_s),
                value: quantity(interval).unwrap_or(f64::NAN),
                ..row.clone()
            });
        }
    }
}

/// The values of a run: its estimates and predictions, its intervals, its samples.
#[must_use]
pub fn run_values(run: &Run, series: &[SampleSeries]) -> String {
    let mut table = ValueTable::new(&[]);
    let row = ValueRow {
        id: &run.header.id,
        ..ValueRow::default()
    };
    kind_report(run.kind()).values(run, &row, &mut table);
    for check in run.predictions() {
        table.push(&ValueRow {
            kind: "predicted",
            metric: &check.prediction.name,
            unit: check.prediction.unit.name(),
            value: check.prediction.value,
            ..row.clone()
        });
    }
    let flows = flows_of_run(run, 0.0);
    for episode in &run.episodes {
        let end_s = episode.to_s.or_else(|| end_of(&flows));
        table.push(&ValueRow {
            kind: "episode",
            flow: episode.direction.map_or("", Direction::name),
            metric: episode.kind.name(),
            unit: "s",
            start_s: Some(episode.from_s),
            end_s,
            value: end_s.map_or(0.0, |end_s| (end_s - episode.from_s).max(0.0)),
            ..row.clone()
        });
    }
    let of_shown = ValueRow {
        repeat: run.shown_repeat().map(u64::from),
        ..row.clone()
    };
    for flow in &flows {
        push_intervals(&mut table, &of_shown, flow);
    }
    for one in round_trip_series(series) {
        let flow = one.size_bytes.map_or_else(
            || one.flow.to_string(),
            |size| format!("{}, {size} B", one.flow),
        );
        for (nth, value) in one.values_s.iter().enumerate() {
            table.push(&ValueRow {
                kind: "sample",
                flow: &flow,
                metric: "rtt",
                unit: "s",
                start_s: Some(nth as f64),
                value: *value,
                ..row.clone()
            });
        }
    }
    table.into_text()
}
