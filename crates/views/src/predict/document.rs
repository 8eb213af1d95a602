//! Predictions as a JSON document.

use caudal_core::prediction::Prediction;
use caudal_core::run::Tool;
use caudal_predict::question::{EvaluatedPredictions, Evaluation, ParameterKind};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The name and version of the format.
const PREDICT_SCHEMA: &str = "caudal.predict/1";

/// The document of predictions, `caudal.predict/1`.
#[derive(Debug, Serialize)]
pub struct PredictDocument<'a, Given, Predicted> {
    schema: &'static str,
    tool: &'a Tool,
    command: &'a str,
    question: &'a str,
    subject: String,
    given: Given,
    #[serde(flatten)]
    predicted: Predicted,
}

impl<'a, Given, Predicted> PredictDocument<'a, Given, Predicted> {
    /// A document by this tool, called with this command.
    pub(super) fn new(
        (tool, command): (&'a Tool, &'a str),
        (question, subject): (&'a str, String),
        given: Given,
        predicted: Predicted,
    ) -> Self {
        Self {
            schema: PREDICT_SCHEMA,
            tool,
            command,
            question,
            subject,
            given,
            predicted,
        }
    }
}

/// The predictions of the document: one list, or one for each value of a sweep.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum EvaluationRecord<'a> {
    Predictions(&'a [Prediction]),
    Sweep {
        /// The key of the parameter that is swept.
        parameter: String,
        points: Vec<SweepPointRecord<'a>>,
    },
}

/// The predictions for one value of a sweep.
#[derive(Debug, Serialize)]
struct SweepPointRecord<'a> {
    at: Value,
    predictions: &'a [Prediction],
}

/// The document of the predictions for a question, by this tool, called with this command.
#[must_use]
pub fn evaluation_document(evaluation: &Evaluation, tool: &Tool, command: &str) -> Value {
    let fixed = evaluation.fixed.iter();
    let given: BTreeMap<String, Value> = fixed
        .map(|(parameter, value)| (parameter.key(), number(parameter.kind, *value)))
        .collect();
    let predicted = match &evaluation.predictions {
        EvaluatedPredictions::Single(predictions) => EvaluationRecord::Predictions(predictions),
        EvaluatedPredictions::Sweep(parameter, points) => {
            let points = points.iter().map(|point| SweepPointRecord {
                at: number(parameter.kind, point.value),
                predictions: &point.predictions,
            });
            EvaluationRecord::Sweep {
                parameter: parameter.key(),
                points: points.collect(),
            }
        }
    };
    let question = (evaluation.question, evaluation.subject.clone());
    PredictDocument::new((tool, command), question, given, predicted).to_value()
}

impl<Given: Serialize, Predicted: Serialize> PredictDocument<'_, Given, Predicted> {
    /// The document with its keys in alphabetical order.
    pub(super) fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("the document has only names for keys")
    }
}

/// A value of a parameter as a JSON number, without decimals where it is whole.
pub(super) fn number(kind: ParameterKind, value: f64) -> Value {
    if kind.is_whole() {
        Value::from(value as u64)
    } else {
        Value::from(value)
    }
}
