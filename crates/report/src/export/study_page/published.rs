//! The published values beside those observed, as a table.

use super::estimate_cell::estimate_cell;
use crate::export::page::{Cell, Mark, Table, TableColumn};
use crate::export::wording::{self, about};
use caudal_experiment::findings::{Findings, MetricFindings, PublishedComparison};

/// Published beside observed, a row each.
pub(super) fn beside(findings: &Findings) -> Table {
    let predicted = findings
        .published
        .iter()
        .any(|one| one.published_prediction.is_some() || ours(findings, one).is_some());
    let theirs = findings
        .published
        .iter()
        .any(|one| one.published_prediction.is_some());
    // Where predictions were published too, the columns come in pairs.
    let column = |pair: &str, name: &str| TableColumn {
        group: if theirs {
            pair.to_owned()
        } else {
            String::new()
        },
        name: name.to_owned(),
        words: false,
    };
    let mut columns = Vec::new();
    if theirs {
        columns.push(column("predicted", "published"));
    }
    if predicted {
        columns.push(column(
            "predicted",
            if theirs { "ours" } else { "predicted" },
        ));
    }
    columns.push(column("observed", "published"));
    columns.push(column("observed", if theirs { "ours" } else { "observed" }));
    columns.push(TableColumn::number("difference"));
    columns.push(TableColumn::words("agrees"));
    let rows = findings.published.iter().map(|one| {
        let unit = wording::unit(one.unit);
        let value = |value: Option<f64>| Cell::new(value.map_or(String::new(), |v| about(v, unit)));
        let mut cells = Vec::new();
        if predicted {
            if theirs {
                cells.push(value(one.published_prediction));
            }
            cells.push(value(
                ours(findings, one).and_then(|known| known.predicted.or(known.simulated)),
            ));
        }
        cells.push(value(one.published));
        cells.push(estimate_cell(one.observed.as_ref(), &one.metric, one.unit));
        cells.push(Cell::new(
            one.difference.map_or(String::new(), wording::percent),
        ));
        let mark = Mark::from(one.agrees);
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
        cells.push(Cell {
            text: format!("{word}{why}"),
            beside: None,
            mark: Some(mark),
        });
        (
            format!("{}: {}", one.case, wording::metric(&one.metric)),
            cells,
        )
    });
    Table {
        caption: "Published beside observed".to_owned(),
        corner: "case and metric".to_owned(),
        columns,
        rows: rows.collect(),
        note: findings
            .source
            .as_ref()
            .map(|source| format!("Published: {source}")),
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
