//! The predictions of a sweep that get a column in its table, or a line in its figure.

use crate::predict::evaluation::SweepPoint;
use crate::predict::question::Question;
use caudal_core::prediction::Prediction;

/// Maximum number of such predictions.
const MAX_COLUMNS: usize = 8;

/// The names of the predictions with a column: those the question lists that some point has.
pub(super) fn column_names(question: &dyn Question, points: &[SweepPoint]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for wanted in question.columns() {
        let matches = |name: &str| match wanted.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *wanted,
        };
        for prediction in points.iter().flat_map(|point| &point.predictions) {
            if matches(&prediction.name) && !names.contains(&prediction.name) {
                names.push(prediction.name.clone());
            }
        }
    }
    names.truncate(MAX_COLUMNS);
    names
}

/// The first prediction of that name.
pub(super) fn prediction_named<'a>(
    predictions: &'a [Prediction],
    name: &str,
) -> Option<&'a Prediction> {
    predictions.iter().find(|one| one.name == name)
}
