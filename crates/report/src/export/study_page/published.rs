//! The published values beside those observed, as a table.

use super::numbers::estimate_cell;
use crate::export::page::{Cell, Mark, Table, TableColumn};
use crate::export::wording::{self, about};
use caudal_experiment::findings::{Findings, MetricFindings, PublishedComparison};

/// The predictions among the columns of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PredictionColumns {
    /// None, as nothing was predicted.
    Absent,
    /// Those of caudal alone.
    Ours,
    /// The published ones beside those of caudal.
    PublishedAndOurs,
}

impl PredictionColumns {
    fn for_findings(findings: &Findings) -> Self {
        let published = &findings.published;
        if published
            .iter()
            .any(|one| one.published_prediction.is_some())
        {
            Self::PublishedAndOurs
        } else if published.iter().any(|one| ours(findings, one).is_some()) {
            Self::Ours
        } else {
            Self::Absent
        }
    }
}

/// Published beside observed, a row each.
pub(super) fn beside(findings: &Findings) -> Table {
    let predictions = PredictionColumns::for_findings(findings);
    let rows = findings.published.iter().map(|one| {
        (
            format!("{}: {}", one.case, wording::metric(&one.metric)),
            comparison_cells(findings, one, predictions),
        )
    });
    Table {
        caption: "Published beside observed".to_owned(),
        corner: "case and metric".to_owned(),
        columns: columns(predictions),
        rows: rows.collect(),
        note: findings
            .source
            .as_ref()
            .map(|source| format!("Published: {source}")),
    }
}

/// The columns of the table; where predictions were published too, they come in pairs.
fn columns(predictions: PredictionColumns) -> Vec<TableColumn> {
    let paired = |group: &str, name: &str| TableColumn {
        group: group.to_owned(),
        name: name.to_owned(),
        words: false,
    };
    let mut columns = match predictions {
        PredictionColumns::PublishedAndOurs => vec![
            paired("predicted", "published"),
            paired("predicted", "ours"),
            paired("observed", "published"),
            paired("observed", "ours"),
        ],
        PredictionColumns::Ours => vec![
            paired("", "predicted"),
            paired("", "published"),
            paired("", "observed"),
        ],
        PredictionColumns::Absent => vec![paired("", "published"), paired("", "observed")],
    };
    columns.push(TableColumn::number("difference"));
    columns.push(TableColumn::words("agrees"));
    columns
}

/// The cells of a published value, in the order of the columns.
fn comparison_cells(
    findings: &Findings,
    one: &PublishedComparison,
    predictions: PredictionColumns,
) -> Vec<Cell> {
    let unit = wording::unit(one.unit);
    let value_cell =
        |value: Option<f64>| Cell::new(value.map_or(String::new(), |value| about(value, unit)));
    let mut cells = Vec::new();
    if predictions == PredictionColumns::PublishedAndOurs {
        cells.push(value_cell(one.published_prediction));
    }
    if predictions != PredictionColumns::Absent {
        let ours = ours(findings, one);
        cells.push(value_cell(
            ours.and_then(|known| known.predicted.or(known.simulated)),
        ));
    }
    cells.push(value_cell(one.published));
    cells.push(estimate_cell(one.observed.as_ref(), &one.metric, one.unit));
    cells.push(Cell::new(
        one.difference.map_or(String::new(), wording::percent),
    ));
    cells.push(agreement_cell(one));
    cells
}

/// The cell on the agreement, with the reason where there is none.
fn agreement_cell(one: &PublishedComparison) -> Cell {
    let word = match one.agrees {
        Some(true) => "yes",
        Some(false) => "no",
        None => "cannot tell",
    };
    let why = one
        .because
        .as_ref()
        .filter(|_| one.agrees != Some(true))
        .map_or(String::new(), |why| format!(": {why}"));
    Cell {
        text: format!("{word}{why}"),
        beside: None,
        mark: Some(Mark::from(one.agrees)),
    }
}

/// The findings on the case and metric of a published value.
fn ours<'a>(findings: &'a Findings, one: &PublishedComparison) -> Option<&'a MetricFindings> {
    findings
        .cases
        .iter()
        .find(|case| case.key == one.case)?
        .metrics
        .get(&one.metric)
        .filter(|known| known.predicted.is_some() || known.simulated.is_some())
}
