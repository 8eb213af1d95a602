//! Predictions written to where the flags ask for them.

use super::{csv, figure, json, text};
use crate::args::OutputArgs;
use crate::exit::Failure;
use crate::output::sink::{Sink, Sinks};
use crate::predict::evaluation::Evaluation;
use crate::predict::output_args::PredictOutputArgs;
use crate::predict::question::Question;
use serde_json::Value;

/// Writes the predictions for a question in the formats that its flags select.
///
/// # Errors
/// When a file cannot be written, or a figure has nothing to draw.
pub(in crate::predict) fn write_evaluation(
    question: &dyn Question,
    evaluation: &Evaluation,
) -> Result<(), Failure> {
    let args = question.output();
    let mut lines = text::text(question, evaluation);
    if let Some(path) = &args.svg {
        let mut file = Sink::file(path)?;
        file.write(&figure::figure(question, evaluation)?.svg());
        file.finish()?;
        lines.push(format!("figure: {}", path.display()));
    }
    write_formats(args, &lines, &|| json::json(question, evaluation), &|| {
        csv::csv(evaluation)
    })
}

/// Writes text, JSON or CSV to where the flags ask for it.
///
/// # Errors
/// When it cannot be written.
pub(in crate::predict) fn write_formats(
    args: &PredictOutputArgs,
    lines: &[String],
    json: &dyn Fn() -> Value,
    csv: &dyn Fn() -> Vec<String>,
) -> Result<(), Failure> {
    let output = OutputArgs {
        json: args.json,
        csv: args.csv,
        output: args.output.clone(),
        ..OutputArgs::default()
    };
    let mut sinks = Sinks::open(&output)?;
    for line in lines {
        sinks.text.line(line);
    }
    let data = if args.json {
        serde_json::to_string_pretty(&json()).unwrap_or_default()
    } else if args.csv {
        csv().join("\n")
    } else {
        String::new()
    };
    if !data.is_empty() {
        sinks.data.line(&data);
    }
    sinks.finish(&data)
}
