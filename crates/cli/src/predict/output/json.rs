//! Predictions as one JSON object.

use crate::invocation::command_line;
use crate::predict::evaluation::{EvaluatedPredictions, Evaluation};
use crate::predict::parameter::Parameter;
use crate::predict::parameter_kind::ParameterKind;
use crate::predict::question::Question;
use serde_json::{Value, json};

/// The name and version of the JSON format.
pub const SCHEMA: &str = "caudal.predict/1";

/// The predictions for a question as JSON.
pub(super) fn json(question: &dyn Question, evaluation: &Evaluation) -> Value {
    let mut given = serde_json::Map::new();
    for (parameter, value) in &evaluation.fixed {
        given.insert(key(parameter), number(parameter.kind, *value));
    }
    let mut value = json!({
        "schema": SCHEMA,
        "tool": caudal_engine::this_tool(None),
        "command": command_line(),
        "question": question.name(),
        "subject": question.subject(),
        "given": given,
    });
    let (name, predictions) = match &evaluation.predictions {
        EvaluatedPredictions::Single(predictions) => ("predictions", json!(predictions)),
        EvaluatedPredictions::Sweep(parameter, points) => (
            "sweep",
            json!({
                "parameter": key(parameter),
                "points": points.iter().map(|point| json!({
                    "at": number(parameter.kind, point.value),
                    "predictions": point.predictions,
                })).collect::<Vec<_>>(),
            }),
        ),
    };
    if let Value::Object(map) = &mut value {
        map.insert(name.to_owned(), predictions);
    }
    value
}

/// The key of a parameter in JSON: the name of its flag, with its unit.
pub(super) fn key(parameter: &Parameter) -> String {
    let name = parameter.name.replace('-', "_");
    match parameter.kind {
        ParameterKind::Rate => format!("{name}_bps"),
        ParameterKind::Amount if name == "bytes" => name,
        ParameterKind::Amount | ParameterKind::Packet => format!("{name}_bytes"),
        ParameterKind::Time => format!("{name}_s"),
        ParameterKind::Share | ParameterKind::Count => name,
    }
}

/// A value of a parameter as a JSON number, without decimals where it is whole.
pub(super) fn number(kind: ParameterKind, value: f64) -> Value {
    match kind {
        ParameterKind::Time | ParameterKind::Share => json!(value),
        _ => json!(value as u64),
    }
}
