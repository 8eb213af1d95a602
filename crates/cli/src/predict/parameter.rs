//! A numeric parameter of a prediction, and the values that parameters have.

use super::parameter_kind::ParameterKind;
use super::sweep::Sweep;
use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// A numeric parameter of a question.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Its flag without the dashes.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ParameterKind,
    /// The values given; `None` when the flag was left out.
    pub given: Option<Sweep>,
}

impl Parameter {
    /// A parameter with the values of its flag.
    pub(super) fn new(name: &'static str, kind: ParameterKind, given: Option<&Sweep>) -> Self {
        Self {
            name,
            kind,
            given: given.cloned(),
        }
    }

    /// Its only value; `None` when it has several or none.
    pub(super) fn single_value(&self) -> Option<f64> {
        self.given.as_ref().and_then(Sweep::single_value)
    }

    /// The values it is swept over; `None` when it has one value or none.
    pub(super) fn swept(&self) -> Option<&Sweep> {
        self.given.as_ref().filter(|given| given.is_swept())
    }
}

/// One value of each parameter.
#[derive(Debug, Clone)]
pub struct ParameterValues(Vec<(&'static str, f64)>);

impl ParameterValues {
    /// The given values by the names of their parameters.
    pub(super) const fn new(values: Vec<(&'static str, f64)>) -> Self {
        Self(values)
    }

    /// The value of a parameter; `None` when it was left out.
    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    /// The value of a parameter that is required or has a default.
    pub(super) fn number(&self, name: &str) -> f64 {
        self.get(name).unwrap_or_default()
    }

    /// A rate; `None` when it was left out.
    pub(super) fn rate(&self, name: &str) -> Option<BitRate> {
        self.get(name).and_then(BitRate::from_f64)
    }

    /// The line rate, `--rate`.
    pub(super) fn line_rate(&self) -> BitRate {
        self.rate("rate").unwrap_or(BitRate::ZERO)
    }

    /// An amount; `None` when it was left out.
    pub(super) fn bytes(&self, name: &str) -> Option<ByteCount> {
        self.get(name).map(|bytes| ByteCount::new(bytes as u64))
    }

    /// A time; 0 when it was left out.
    pub(super) fn time(&self, name: &str) -> Duration {
        self.get(name)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or_default()
    }

    /// A whole number, which the parsers keep well below 2^32; `None` when it was left out.
    pub(super) fn whole(&self, name: &str) -> Option<u32> {
        self.get(name).map(|value| value as u32)
    }
}

/// `true` when no parameter is swept: to simulate every point of a sweep would take too long.
pub(super) fn have_single_values(parameters: &[Parameter]) -> bool {
    parameters
        .iter()
        .all(|parameter| parameter.swept().is_none())
}
