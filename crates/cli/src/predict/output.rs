//! The output flags of the predictions, and predictions written to where they ask for them.

use crate::exit::Failure;
use crate::invocation::command_line;
use crate::output::line_width;
use crate::output::sink::{Sink, write_answer};
use caudal_engine::this_tool;
use caudal_predict::question::Evaluation;
use caudal_views::predict::{
    Arithmetic, evaluation_document, evaluation_lines, evaluation_rows, sweep_figure,
};
use clap::Args;
use serde_json::Value;
use std::path::PathBuf;

/// The formats of the output, and its destination.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct PredictOutputArgs {
    /// Show the arithmetic with the numbers filled in, the assumptions, and the sources
    #[arg(long)]
    pub explain: bool,
    /// Draw the sweep as an SVG figure into FILE
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// The formats.
    #[command(flatten)]
    pub formats: PredictFormatArgs,
}

/// The formats of the output beside text, and its destination.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct PredictFormatArgs {
    /// Print one JSON object (schema caudal.predict/1)
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print comma-separated values: a row for each prediction
    #[arg(long)]
    pub csv: bool,
    /// Write the output to FILE; with --json or --csv the text is still shown
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What `--explain` shows.
pub(super) const fn arithmetic(explain: bool) -> Arithmetic {
    if explain {
        Arithmetic::Shown
    } else {
        Arithmetic::Hidden
    }
}

/// Writes the predictions for a question in the formats that its flags select.
///
/// # Errors
/// When a file cannot be written, or a figure has nothing to draw.
pub(super) fn write_evaluation(
    args: &PredictOutputArgs,
    evaluation: &Evaluation,
) -> Result<(), Failure> {
    let mut lines = evaluation_lines(evaluation, arithmetic(args.explain), line_width());
    if let Some(path) = &args.svg {
        let mut file = Sink::file(path)?;
        let figure = sweep_figure(evaluation).ok_or_else(|| {
            Failure::usage(
                "there is nothing to draw: no value of the sweep gives a prediction",
                "see the text without --svg",
            )
        })?;
        file.write(&figure.svg());
        file.finish()?;
        lines.push(format!("figure: {}", path.display()));
    }
    let json = || evaluation_document(evaluation, &this_tool(None), &command_line());
    write_formats(&args.formats, &lines, &json, &|| {
        evaluation_rows(evaluation)
    })
}

/// Writes text, JSON or CSV to where the flags ask for it.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_formats(
    args: &PredictFormatArgs,
    lines: &[String],
    json: &dyn Fn() -> Value,
    csv: &dyn Fn() -> Vec<String>,
) -> Result<(), Failure> {
    let data = if args.json {
        Some(serde_json::to_string_pretty(&json()).unwrap_or_default())
    } else {
        args.csv.then(|| csv().join("\n"))
    };
    write_answer(args.output.as_deref(), lines, data.as_deref())
}
