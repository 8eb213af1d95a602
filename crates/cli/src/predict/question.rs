//! A question that theory answers.

use super::output_args::PredictOutputArgs;
use super::parameter::{Parameter, ParameterValues};
use crate::exit::Failure;
use caudal_core::prediction::Prediction;

/// A question with its parameters, which can predict the result for one value of each.
pub trait Question {
    /// The name of its subcommand.
    fn name(&self) -> &'static str;

    /// Its numeric parameters.
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

    /// The formats of the output, and its destination.
    fn output(&self) -> &PredictOutputArgs;
}
