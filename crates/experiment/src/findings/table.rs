//! The tables of a report: those that the experiment asks for, or one of all cases.

use serde::{Deserialize, Serialize};

use super::case_findings::{CaseFindings, MetricFindings, cases_where, default_metrics};
use super::format::{format_estimate, format_value};
use crate::campaign::Campaign;
use crate::expression::metric_unit;

/// A table of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingsTable {
    /// The title.
    pub title: String,
    /// The heads of the columns after the first, in two levels: the metric, and `predicted`, `simulated`, `published` or `observed`.
    pub columns: Vec<(String, String)>,
    /// The rows: the key of the case, and a cell for each column.
    pub rows: Vec<(String, Vec<TableCell>)>,
}

/// A cell of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableCell {
    /// The value with its unit and half the width of its interval; empty without a value.
    pub text: String,
    /// The value in the base unit of the metric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The ends of its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// The values a metric may have in a table, in the order of its columns.
const COLUMNS: [&str; 4] = ["predicted", "simulated", "published", "observed"];

/// The tables of the experiment, or one of all cases with the default metrics.
pub(super) fn tables(campaign: &Campaign, findings: &[CaseFindings]) -> Vec<FindingsTable> {
    let files = &campaign.experiment.table;
    if files.is_empty() {
        let cases: Vec<usize> = (0..findings.len()).collect();
        let title = "All cases".to_owned();
        return vec![table(title, &cases, &default_metrics(campaign), findings)];
    }
    files
        .iter()
        .map(|file| {
            let cases = cases_where(campaign, file.when.as_deref());
            let metrics = if file.metrics.is_empty() {
                default_metrics(campaign)
            } else {
                file.metrics.clone()
            };
            table(file.title.clone(), &cases, &metrics, findings)
        })
        .collect()
}

fn table(
    title: String,
    cases: &[usize],
    metrics: &[String],
    findings: &[CaseFindings],
) -> FindingsTable {
    let has_values = |metric: &String, which: &str| {
        cases.iter().any(|case| {
            let found = findings[*case].metrics.get(metric);
            found.is_some_and(|found| !cell(metric, found, which).text.is_empty())
        })
    };
    let columns: Vec<(String, String)> = metrics
        .iter()
        .flat_map(|metric| COLUMNS.map(|which| (metric.clone(), which.to_owned())))
        .filter(|(metric, which)| has_values(metric, which))
        .collect();
    let rows = cases
        .iter()
        .map(|case| {
            let case = &findings[*case];
            let cells = columns.iter().map(|(metric, which)| {
                let found = case.metrics.get(metric);
                found.map_or_else(TableCell::default, |found| cell(metric, found, which))
            });
            (case.key.clone(), cells.collect())
        })
        .collect();
    FindingsTable {
        title,
        columns,
        rows,
    }
}

fn cell(name: &str, metric: &MetricFindings, which: &str) -> TableCell {
    let unit = metric_unit(name);
    let without_interval = |value: Option<f64>| {
        value.map_or_else(TableCell::default, |value| TableCell {
            text: format_value(value, unit),
            value: Some(value),
            interval: None,
        })
    };
    match which {
        "predicted" => without_interval(metric.predicted),
        "simulated" => without_interval(metric.simulated),
        "published" => without_interval(metric.published),
        _ => metric
            .observed
            .map_or_else(TableCell::default, |observed| TableCell {
                text: format_estimate(&observed, unit),
                value: Some(observed.mean),
                interval: (observed.confidence > 0.0).then_some((observed.low, observed.high)),
            }),
    }
}
