//! The predictions for a question, for one value of each parameter or along a sweep.

use super::parameter::{Parameter, ParameterValues};
use super::question::Question;
use super::sweep::SweepResolution;
use crate::exit::Failure;
use caudal_core::prediction::Prediction;

/// The predictions for a question, with the parameters they hold for.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The parameters with one value, and that value.
    pub fixed: Vec<(Parameter, f64)>,
    /// The predictions.
    pub predictions: EvaluatedPredictions,
}

/// Predictions for one value of each parameter, or along a sweep.
#[derive(Debug, Clone)]
pub enum EvaluatedPredictions {
    /// For one value of each parameter.
    Single(Vec<Prediction>),
    /// For each value of the parameter that is swept.
    Sweep(Parameter, Vec<SweepPoint>),
}

/// The predictions for one value of the parameter that is swept.
#[derive(Debug, Clone)]
pub struct SweepPoint {
    /// The value of the parameter.
    pub value: f64,
    /// The predictions for it.
    pub predictions: Vec<Prediction>,
}

impl Evaluation {
    /// The predictions for a question.
    ///
    /// # Errors
    /// When the values contradict one another, two parameters are swept, or a figure is requested without a sweep.
    pub(super) fn new(question: &dyn Question) -> Result<Self, Failure> {
        let parameters = question.parameters();
        let fixed: Vec<(Parameter, f64)> = parameters
            .iter()
            .filter_map(|parameter| Some((parameter.clone(), parameter.single_value()?)))
            .collect();
        let fixed_values = || fixed.iter().map(|(known, value)| (known.name, *value));
        let mut swept = parameters
            .iter()
            .filter_map(|parameter| Some((parameter, parameter.swept()?)));
        let is_drawn = question.output().svg.is_some();
        let predictions = match (swept.next(), swept.next()) {
            (None, _) if is_drawn => {
                return Err(Failure::usage(
                    "--svg draws a sweep, but every parameter has a single value",
                    "give a range, such as --mtu 576..9000 or --rtt 1ms..100ms",
                ));
            }
            (None, _) => EvaluatedPredictions::Single(
                question.predict(&ParameterValues::new(fixed_values().collect()))?,
            ),
            (Some((parameter, sweep)), None) => {
                let resolution = if is_drawn {
                    SweepResolution::Figure
                } else {
                    SweepResolution::Table
                };
                let predict = |value: f64| {
                    let values = fixed_values().chain([(parameter.name, value)]).collect();
                    let predictions = question.predict(&ParameterValues::new(values))?;
                    Ok(SweepPoint { value, predictions })
                };
                let points = sweep.values(resolution).into_iter().map(predict);
                let points = points.collect::<Result<_, Failure>>()?;
                EvaluatedPredictions::Sweep(parameter.clone(), points)
            }
            (Some((first, _)), Some((second, _))) => {
                return Err(Failure::usage(
                    format!(
                        "--{} and --{} both have several values",
                        first.name, second.name
                    ),
                    "sweep one at a time",
                ));
            }
        };
        Ok(Self { fixed, predictions })
    }
}
