//! Predictions as comma-separated values.

use super::json::{key, number};
use crate::predict::evaluation::{EvaluatedPredictions, Evaluation};
use caudal_core::prediction::{Method, Prediction};

/// The columns of the comma-separated values.
pub const COLUMNS: [&str; 13] = [
    "parameter",
    "at",
    "name",
    "value",
    "unit",
    "method",
    "binding",
    "tolerance_below",
    "tolerance_above",
    "title",
    "detail",
    "assumes",
    "source",
];

/// The header and a row for each prediction.
pub(super) fn csv(evaluation: &Evaluation) -> Vec<String> {
    let mut lines = vec![COLUMNS.join(",")];
    match &evaluation.predictions {
        EvaluatedPredictions::Single(predictions) => {
            lines.extend(predictions.iter().map(|one| csv_row("", "", one)));
        }
        EvaluatedPredictions::Sweep(parameter, points) => {
            for point in points {
                let at = number(parameter.kind, point.value).to_string();
                lines.extend(
                    point
                        .predictions
                        .iter()
                        .map(|one| csv_row(&key(parameter), &at, one)),
                );
            }
        }
    }
    lines
}

/// The header and a row for each of these predictions, which belong to no sweep.
pub(in crate::predict) fn prediction_rows(predictions: &[&Prediction]) -> Vec<String> {
    let mut lines = vec![COLUMNS.join(",")];
    lines.extend(predictions.iter().map(|one| csv_row("", "", one)));
    lines
}

fn csv_row(parameter: &str, at: &str, prediction: &Prediction) -> String {
    let quoted = |text: &str| {
        if text.contains([',', '"', '\n']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let method = match prediction.method {
        Method::Formula => "formula",
        Method::Simulation => "simulation",
    };
    [
        parameter.to_owned(),
        at.to_owned(),
        quoted(&prediction.name),
        prediction.value.to_string(),
        prediction.unit.name().to_owned(),
        method.to_owned(),
        prediction.binding.clone().unwrap_or_default(),
        prediction.tolerance.below.to_string(),
        prediction.tolerance.above.to_string(),
        quoted(&prediction.title),
        quoted(&prediction.detail),
        quoted(&prediction.assumes),
        quoted(&prediction.source),
    ]
    .join(",")
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
