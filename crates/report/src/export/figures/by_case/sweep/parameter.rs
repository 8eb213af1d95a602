//! The parameter of a sweep: its values, and their places on the axis.

use super::parameter_axis::parameter_axis;
use caudal_experiment::Scalar;
use caudal_experiment::findings::CaseFindings;
use caudal_plot::Axis;

/// The parameter of a sweep.
pub struct SweptParameter<'a> {
    pub name: &'a str,
    /// Its value in each case.
    values: Vec<&'a Scalar>,
    /// Its different values as text, in the order of the experiment.
    value_names: Vec<String>,
    /// Set when all values are numbers; else they are categories.
    is_numeric: bool,
}

impl<'a> SweptParameter<'a> {
    /// The parameter with the values it has in the cases.
    pub fn from_cases(name: &'a str, cases: &[&'a CaseFindings]) -> Self {
        let values: Vec<&Scalar> = cases
            .iter()
            .filter_map(|case| parameter_value(case, name))
            .collect();
        let mut value_names: Vec<String> = Vec::new();
        for value in &values {
            let name = value.to_string();
            if !value_names.contains(&name) {
                value_names.push(name);
            }
        }
        Self {
            name,
            is_numeric: values.iter().all(|value| value.number().is_some()),
            values,
            value_names,
        }
    }

    /// The place of a case on the axis: the number, or the index of the category; `None` where the case lacks the parameter.
    pub fn position(&self, case: &CaseFindings) -> Option<f64> {
        let value = parameter_value(case, self.name)?;
        if self.is_numeric {
            return value.number();
        }
        let name = value.to_string();
        let index = self.value_names.iter().position(|known| *known == name)?;
        Some(index as f64)
    }

    /// The value at a place of the axis, as the experiment writes it.
    pub fn text_at(&self, position: f64) -> String {
        if self.is_numeric {
            let value = self
                .values
                .iter()
                .find(|value| value.number() == Some(position));
            value.map_or_else(|| position.to_string(), ToString::to_string)
        } else {
            let name = self.value_names.get(position as usize);
            name.cloned().unwrap_or_default()
        }
    }

    /// The axis for points at these places.
    pub fn axis(&self, positions: &[f64]) -> Axis {
        if self.is_numeric {
            parameter_axis(self.name, &self.values, positions)
        } else {
            Axis::categories(self.name, self.value_names.clone())
        }
    }
}

/// The value of a parameter in a case.
pub fn parameter_value<'a>(case: &'a CaseFindings, name: &str) -> Option<&'a Scalar> {
    case.parameters
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value)
}

/// The parameters of the first case that have another value in a later one.
pub fn varied_parameters<'a>(cases: &[&'a CaseFindings]) -> Vec<&'a str> {
    let Some(first) = cases.first() else {
        return Vec::new();
    };
    let varied = first.parameters.iter().filter(|(name, value)| {
        cases
            .iter()
            .any(|case| parameter_value(case, name).is_some_and(|other| other != value))
    });
    varied.map(|(name, _)| name.as_str()).collect()
}
