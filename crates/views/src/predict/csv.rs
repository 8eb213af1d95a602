//! Predictions as comma-separated values.

use super::document::number;
use crate::column::{self, Column, name_in_json};
use caudal_core::prediction::Prediction;
use caudal_predict::question::{EvaluatedPredictions, Evaluation};

/// A row of the table: a prediction, with the value of the parameter that was swept.
#[derive(Debug)]
pub struct PredictionRow<'a> {
    /// The parameter's key; empty without a sweep, as is its value.
    parameter: &'a str,
    at: &'a str,
    prediction: &'a Prediction,
}

impl PredictionRow<'_> {
    /// The columns, in their order.
    pub const COLUMNS: [Column<Self>; 13] = [
        Column::new(
            "parameter",
            "",
            "the parameter that was swept, by its key in JSON; empty without a sweep",
            |row| row.parameter.to_owned(),
        ),
        Column::new(
            "at",
            "that of the parameter",
            "its value; empty without a sweep",
            |row| row.at.to_owned(),
        ),
        Column::new("name", "", "the quantity that was predicted", |row| {
            row.prediction.name.clone()
        }),
        Column::new("value", "that of `unit`", "the predicted value", |row| {
            row.prediction.value.to_string()
        }),
        Column::new("unit", "", "of the value", |row| {
            row.prediction.unit.name().to_owned()
        }),
        Column::new("method", "", "`formula` or `simulation`", |row| {
            name_in_json(&row.prediction.method)
        }),
        Column::new(
            "binding",
            "",
            "the term that determines the value, where it is the minimum of several",
            |row| row.prediction.binding.clone().unwrap_or_default(),
        ),
        Column::new(
            "tolerance_below",
            "share",
            "how far below the value an observation may lie; one further off contradicts an assumption",
            |row| row.prediction.tolerance.below.to_string(),
        ),
        Column::new(
            "tolerance_above",
            "share",
            "how far above the value, likewise",
            |row| row.prediction.tolerance.above.to_string(),
        ),
        Column::new("title", "", "the name for people", |row| {
            row.prediction.title.clone()
        }),
        Column::new(
            "detail",
            "",
            "the intermediate result that explains the value",
            |row| row.prediction.detail.clone(),
        ),
        Column::new(
            "assumes",
            "",
            "the assumptions under which the value holds",
            |row| row.prediction.assumes.clone(),
        ),
        Column::new("source", "", "the source of the formula", |row| {
            row.prediction.source.clone()
        }),
    ];
}

/// The header and a row for each prediction.
#[must_use]
pub fn evaluation_rows(evaluation: &Evaluation) -> Vec<String> {
    match &evaluation.predictions {
        EvaluatedPredictions::Single(predictions) => prediction_rows(predictions),
        EvaluatedPredictions::Sweep(parameter, points) => {
            let key = parameter.key();
            let rows = points.iter().flat_map(|point| {
                let at = number(parameter.kind, point.value).to_string();
                let predictions = point.predictions.iter();
                let rows = predictions.map(|one| csv_row(&key, &at, one));
                rows.collect::<Vec<_>>()
            });
            with_header(rows)
        }
    }
}

/// The header and a row for each of these predictions, which belong to no sweep.
pub fn prediction_rows<'a>(predictions: impl IntoIterator<Item = &'a Prediction>) -> Vec<String> {
    with_header(
        predictions
            .into_iter()
            .map(|prediction| csv_row("", "", prediction)),
    )
}

fn with_header(rows: impl Iterator<Item = String>) -> Vec<String> {
    let header = column::header(&PredictionRow::COLUMNS);
    std::iter::once(header).chain(rows).collect()
}

fn csv_row(parameter: &str, at: &str, prediction: &Prediction) -> String {
    let row = PredictionRow {
        parameter,
        at,
        prediction,
    };
    column::row(&PredictionRow::COLUMNS, &row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::quantity::Unit;

    #[test]
    fn a_field_with_commas_is_quoted() {
        let mut prediction = Prediction::new("a", "goodput", 1.0, Unit::BitPerSecond);
        prediction.assumes = "this, and \"that\"".to_owned();
        assert!(csv_row("", "", &prediction).contains("\"this, and \"\"that\"\"\""));
    }
}
