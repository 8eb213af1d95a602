//! Predictions as text: the question, a table, and the arithmetic.

use super::columns::column_names;
use super::sweep_table::sweep_table;
use super::table::table;
use crate::output::fold;
use crate::predict::evaluation::{EvaluatedPredictions, Evaluation};
use crate::predict::question::Question;
use caudal_core::prediction::Prediction;

/// The line below predictions that are printed without their arithmetic.
pub(in crate::predict) const HINT: &str =
    "--explain shows the arithmetic, the assumptions, and the sources";

/// The subject of the question, with its parameters.
fn headline(question: &dyn Question, evaluation: &Evaluation) -> String {
    fold(&format!("{}; {}", question.subject(), given(evaluation)), 4)
}

/// The parameters with one value, as text, without those that are 0.
pub(super) fn given(evaluation: &Evaluation) -> String {
    let given: Vec<String> = evaluation
        .fixed
        .iter()
        .filter(|(_, value)| *value != 0.0)
        .map(|(parameter, value)| format!("{} {}", parameter.name, parameter.kind.show(*value)))
        .collect();
    given.join(", ")
}

/// The lines of the predictions for a question.
pub(super) fn text(question: &dyn Question, evaluation: &Evaluation) -> Vec<String> {
    let mut lines = vec![headline(question, evaluation), String::new()];
    let explain = question.output().explain;
    match &evaluation.predictions {
        EvaluatedPredictions::Single(predictions) => {
            lines.extend(table(predictions));
            if explain {
                lines.extend(predictions.iter().flat_map(explanation));
            }
        }
        EvaluatedPredictions::Sweep(parameter, points) => {
            let names = column_names(question, points);
            lines.extend(sweep_table(parameter, points, &names));
            if explain {
                // The first point shows the arithmetic; the others differ only in their numbers.
                let first = points.first();
                lines.extend(
                    first
                        .iter()
                        .flat_map(|point| &point.predictions)
                        .filter(|prediction| names.contains(&prediction.name))
                        .flat_map(explanation),
                );
            }
        }
    }
    if !explain {
        lines.push(String::new());
        lines.push(HINT.to_owned());
    }
    lines
}

/// The arithmetic of one prediction.
pub(in crate::predict) fn explanation(prediction: &Prediction) -> Vec<String> {
    let mut lines = vec![
        String::new(),
        fold(
            &format!(
                "{} ({}): {}",
                prediction.title,
                prediction.name,
                prediction.unit_value()
            ),
            4,
        ),
    ];
    lines.extend(
        prediction
            .explanation
            .iter()
            .map(|step| fold(&format!("    {step}"), 6)),
    );
    lines.push(fold(&format!("    assumes: {}", prediction.assumes), 6));
    lines.push(fold(
        &format!(
            "    good to {}; source: {}",
            prediction.tolerance, prediction.source
        ),
        6,
    ));
    lines
}
