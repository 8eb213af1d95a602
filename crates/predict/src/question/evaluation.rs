//! The predictions for a question, for one value of each parameter or along a sweep.

use super::parameter::{Parameter, ParameterValues};
use super::sweep::SweepResolution;
use caudal_core::prediction::Prediction;

/// Maximum number of predictions of a sweep that are shown.
const MAX_COLUMNS: usize = 8;

/// The predictions for a question, with the parameters they hold for.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The name of the question.
    pub question: &'static str,
    /// The title of the predictions, without the numeric parameters.
    pub subject: String,
    /// The names of the predictions that are shown along a sweep; a name may end in `*`.
    pub columns: &'static [&'static str],
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

impl SweepPoint {
    /// The first prediction of that name.
    #[must_use]
    pub fn prediction(&self, name: &str) -> Option<&Prediction> {
        self.predictions.iter().find(|one| one.name == name)
    }
}

impl EvaluatedPredictions {
    /// What `predict` gives for the values of the parameters, along a sweep of the first that has several.
    ///
    /// # Errors
    /// The first of `predict`.
    pub fn new<E>(
        parameters: &[Parameter],
        resolution: SweepResolution,
        predict: impl Fn(&ParameterValues) -> Result<Vec<Prediction>, E>,
    ) -> Result<Self, E> {
        let fixed = || {
            let parameters = parameters.iter();
            parameters.filter_map(|one| Some((one.name, one.values.single_value()?)))
        };
        let Some(parameter) = parameters.iter().find(|one| one.values.is_swept()) else {
            let predictions = predict(&ParameterValues::new(fixed().collect()))?;
            return Ok(Self::Single(predictions));
        };
        let points = parameter
            .values
            .values(resolution)
            .into_iter()
            .map(|value| {
                let values = fixed().chain([(parameter.name, value)]).collect();
                let predictions = predict(&ParameterValues::new(values))?;
                Ok(SweepPoint { value, predictions })
            });
        let points = points.collect::<Result<_, E>>()?;
        Ok(Self::Sweep(parameter.clone(), points))
    }
}

impl Evaluation {
    /// The names of the predictions that are shown along a sweep: those listed that some point has.
    #[must_use]
    pub fn shown_names(&self, points: &[SweepPoint]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for wanted in self.columns {
            let matches = |name: &str| match wanted.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == *wanted,
            };
            for prediction in points.iter().flat_map(|point| &point.predictions) {
                if matches(&prediction.name) && !names.contains(&prediction.name) {
                    names.push(prediction.name.clone());
                }
            }
        }
        names.truncate(MAX_COLUMNS);
        names
    }

    /// The parameters with one value, as text, without those that are 0.
    #[must_use]
    pub fn given(&self) -> String {
        let fixed = self.fixed.iter().filter(|(_, value)| *value != 0.0);
        let given: Vec<String> = fixed
            .map(|(parameter, value)| format!("{} {}", parameter.name, parameter.kind.show(*value)))
            .collect();
        given.join(", ")
    }
}
