//! The value of an expression.

use std::fmt;

use crate::scalar::Scalar;
use caudal_core::quantity::Unit;

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number in base units, with its unit where that is known.
    Number(f64, Option<Unit>),
    /// A text.
    Text(String),
    /// A boolean.
    Bool(bool),
    /// A parameter as written, which compares as a number where it is one.
    Parameter(Scalar),
}

/// The reason why an expression has no value in a case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EvaluationError(pub String);

/// A value as a boolean.
pub(super) fn boolean(value: &Value) -> Result<bool, EvaluationError> {
    match value {
        Value::Bool(boolean) | Value::Parameter(Scalar::Bool(boolean)) => Ok(*boolean),
        other => Err(EvaluationError(format!(
            "{other} is neither true nor false"
        ))),
    }
}

/// A value as a number, with its unit where it is known.
pub(super) fn numeric(value: &Value) -> Result<(f64, Option<Unit>), EvaluationError> {
    match value {
        Value::Number(number, unit) => Ok((*number, *unit)),
        Value::Parameter(scalar) => scalar
            .number()
            .map(|number| (number, None))
            .ok_or_else(|| EvaluationError(format!("{scalar} is not a number"))),
        other => Err(EvaluationError(format!("{other} is not a number"))),
    }
}

/// A number as a value, if it is finite.
pub(super) fn finite(number: f64, unit: Option<Unit>) -> Result<Value, EvaluationError> {
    if number.is_finite() {
        Ok(Value::Number(number, unit))
    } else {
        Err(EvaluationError(
            "the result is not a finite number".to_owned(),
        ))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number, Some(unit)) => f.write_str(&unit.show(*number)),
            Self::Number(number, None) => f.write_str(&caudal_core::quantity::short(*number)),
            Self::Text(text) => f.write_str(text),
            Self::Bool(boolean) => write!(f, "{}", if *boolean { "yes" } else { "no" }),
            Self::Parameter(scalar) => write!(f, "{scalar}"),
        }
    }
}
