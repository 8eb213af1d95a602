//! Predictions as text: the question, a table, and the arithmetic.

use super::sweep_table::sweep_table;
use super::table::table;
use crate::text::fold;
use crate::width::LineWidth;
use caudal_core::prediction::Prediction;
use caudal_predict::question::{EvaluatedPredictions, Evaluation};

/// The line below predictions that are printed without their arithmetic.
const HINT: &str = "--explain shows the arithmetic, the assumptions, and the sources";

/// Whether the arithmetic of predictions is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// With the numbers filled in, the assumptions and the sources.
    Shown,
    /// Not at all.
    Hidden,
}

/// The lines of the predictions for a question.
#[must_use]
pub fn evaluation_lines(
    evaluation: &Evaluation,
    arithmetic: Arithmetic,
    width: LineWidth,
) -> Vec<String> {
    let headline = format!("{}; {}", evaluation.subject, evaluation.given());
    let mut lines = vec![fold(&headline, 4, width), String::new()];
    let explained: Vec<&Prediction> = match &evaluation.predictions {
        EvaluatedPredictions::Single(predictions) => {
            lines.extend(table(predictions));
            predictions.iter().collect()
        }
        EvaluatedPredictions::Sweep(parameter, points) => {
            let names = evaluation.shown_names(points);
            lines.extend(sweep_table(parameter, points, &names));
            // The first point shows the arithmetic; the others differ only in their numbers.
            let first = points.iter().take(1).flat_map(|point| &point.predictions);
            first.filter(|one| names.contains(&one.name)).collect()
        }
    };
    lines.extend(arithmetic_lines(explained, arithmetic, width));
    lines
}

/// The arithmetic of predictions, or the flag that shows it.
pub(super) fn arithmetic_lines<'a>(
    predictions: impl IntoIterator<Item = &'a Prediction>,
    arithmetic: Arithmetic,
    width: LineWidth,
) -> Vec<String> {
    match arithmetic {
        Arithmetic::Shown => predictions
            .into_iter()
            .flat_map(|prediction| explanation(prediction, width))
            .collect(),
        Arithmetic::Hidden => vec![String::new(), HINT.to_owned()],
    }
}

/// The arithmetic of one prediction.
fn explanation(prediction: &Prediction, width: LineWidth) -> Vec<String> {
    let (title, name) = (&prediction.title, &prediction.name);
    let headline = format!("{title} ({name}): {}", prediction.unit_value());
    let mut lines = vec![String::new(), fold(&headline, 4, width)];
    let steps = prediction.explanation.iter().cloned().chain([
        format!("assumes: {}", prediction.assumes),
        format!(
            "good to {}; source: {}",
            prediction.tolerance, prediction.source
        ),
    ]);
    lines.extend(steps.map(|step| fold(&format!("    {step}"), 6, width)));
    lines
}
