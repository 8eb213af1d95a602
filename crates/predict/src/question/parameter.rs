//! A numeric parameter of a prediction, and the values that parameters have.

use super::parameter_kind::ParameterKind;
use super::sweep::Sweep;
use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// A numeric parameter of a question.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its name, as the flag has it.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ParameterKind,
    /// Its values.
    pub values: Sweep,
}

impl Parameter {
    /// The parameters of these names that have values.
    pub fn given<'a>(
        parameters: impl IntoIterator<Item = (&'static str, Option<&'a Sweep>)>,
    ) -> Vec<Self> {
        let parameters = parameters.into_iter();
        let given = parameters.filter_map(|(name, values)| {
            let values = values?.clone();
            Some(Self {
                name,
                kind: values.kind(),
                values,
            })
        });
        given.collect()
    }

    /// Its key in JSON: the name with its unit.
    #[must_use]
    pub fn key(&self) -> String {
        let name = self.name.replace('-', "_");
        match self.kind {
            ParameterKind::Rate => format!("{name}_bps"),
            ParameterKind::Amount if name == "bytes" => name,
            ParameterKind::Amount | ParameterKind::Packet => format!("{name}_bytes"),
            ParameterKind::Time => format!("{name}_s"),
            ParameterKind::Share | ParameterKind::Count => name,
        }
    }
}

/// One value of each parameter.
#[derive(Debug, Clone)]
pub struct ParameterValues(Vec<(&'static str, f64)>);

impl ParameterValues {
    /// The given values by the names of their parameters.
    #[must_use]
    pub const fn new(values: Vec<(&'static str, f64)>) -> Self {
        Self(values)
    }

    /// The value of a parameter; `None` when it was left out.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    /// The value of a parameter that is required or has a default.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        self.get(name).unwrap_or_default()
    }

    /// A rate; `None` when it was left out.
    #[must_use]
    pub fn rate(&self, name: &str) -> Option<BitRate> {
        self.get(name).and_then(BitRate::from_f64)
    }

    /// The line rate, `--rate`.
    #[must_use]
    pub fn line_rate(&self) -> BitRate {
        self.rate("rate").unwrap_or(BitRate::ZERO)
    }

    /// An amount; `None` when it was left out.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Option<ByteCount> {
        self.get(name).map(|bytes| ByteCount::new(bytes as u64))
    }

    /// A time; 0 when it was left out.
    #[must_use]
    pub fn time(&self, name: &str) -> Duration {
        self.get(name)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or_default()
    }

    /// A whole number, which the parsers keep well below 2^32; `None` when it was left out.
    #[must_use]
    pub fn whole(&self, name: &str) -> Option<u32> {
        self.get(name).map(|value| value as u32)
    }
}

/// `true` when no parameter is swept: to simulate every point of a sweep would take too long.
#[must_use]
pub fn have_single_values(parameters: &[Parameter]) -> bool {
    parameters.iter().all(|one| !one.values.is_swept())
}
