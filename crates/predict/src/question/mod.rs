//! The parameters of a question and the values they are given, and the predictions for these values.

mod evaluation;
mod parameter;
mod parameter_kind;
mod sweep;

pub use evaluation::{EvaluatedPredictions, Evaluation, SweepPoint};
pub use parameter::{Parameter, ParameterValues, have_single_values};
pub use parameter_kind::{ParameterKind, RangeSpacing};
pub use sweep::{Sweep, SweepResolution};
