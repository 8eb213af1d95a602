//! A question that theory answers.

use super::framing_args::FramingArgs;
use super::output::PredictOutputArgs;
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_predict::question::{
    EvaluatedPredictions, Evaluation, Parameter, ParameterValues, SweepResolution,
};
use clap::Args;

/// The flags that every question has.
#[derive(Debug, Clone, Args)]
pub struct PredictCommonArgs {
    /// The headers around the payload.
    #[command(flatten)]
    pub framing: FramingArgs,
    /// The output.
    #[command(flatten)]
    pub output: PredictOutputArgs,
}

/// A question with its parameters, which can predict the result for one value of each.
pub trait Question {
    /// The name of its subcommand.
    fn name(&self) -> &'static str;

    /// Its numeric parameters that are given.
    fn parameters(&self) -> Vec<Parameter>;

    /// The title of the predictions, without the numeric parameters.
    fn subject(&self) -> String;

    /// The predictions for one value of each parameter.
    ///
    /// # Errors
    /// When the values contradict one another.
    fn predict(&self, values: &ParameterValues) -> Result<Vec<Prediction>, Failure>;

    /// The names of the predictions that get a column when a parameter is swept; a name may end in `*`.
    fn columns(&self) -> &'static [&'static str];

    /// The flags that every question has.
    fn common(&self) -> &PredictCommonArgs;
}

/// The predictions for a question.
///
/// # Errors
/// When the values contradict one another, two parameters are swept, or a figure is requested without a sweep.
pub(super) fn evaluate(question: &dyn Question) -> Result<Evaluation, Failure> {
    let parameters = question.parameters();
    let mut swept = parameters.iter().filter(|one| one.values.is_swept());
    let is_drawn = question.common().output.svg.is_some();
    match (swept.next(), swept.next()) {
        (None, _) if is_drawn => {
            return Err(Failure::usage(
                "--svg draws a sweep, but every parameter has a single value",
                "give a range, such as --mtu 576..9000 or --rtt 1ms..100ms",
            ));
        }
        (Some(first), Some(second)) => {
            return Err(Failure::usage(
                format!(
                    "--{} and --{} both have several values",
                    first.name, second.name
                ),
                "sweep one at a time",
            ));
        }
        _ => {}
    }
    let resolution = if is_drawn {
        SweepResolution::Figure
    } else {
        SweepResolution::Table
    };
    let predict = |values: &ParameterValues| question.predict(values);
    let predictions = EvaluatedPredictions::new(&parameters, resolution, predict)?;
    let fixed = parameters.into_iter();
    Ok(Evaluation {
        question: question.name(),
        subject: question.subject(),
        columns: question.columns(),
        fixed: fixed
            .filter_map(|parameter| {
                let value = parameter.values.single_value()?;
                Some((parameter, value))
            })
            .collect(),
        predictions,
    })
}
