//! What a formula comes to.

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
    /// A truth.
    Truth(bool),
    /// A parameter as written; it compares as a number where it is one.
    Written(Scalar),
}

/// Why an expression has no value in a case.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CannotTell(pub String);

/// Whether a value is true.
pub(super) fn truth(value: &Value) -> Result<bool, CannotTell> {
    match value {
        Value::Truth(truth) | Value::Written(Scalar::Truth(truth)) => Ok(*truth),
        other => Err(CannotTell(format!("{other} is neither true nor false"))),
    }
}

/// A value as a number, with its unit where that is known.
pub(super) fn amount(value: &Value) -> Result<(f64, Option<Unit>), CannotTell> {
    match value {
        Value::Number(number, unit) => Ok((*number, *unit)),
        Value::Written(scalar) => scalar
            .number()
            .map(|number| (number, None))
            .ok_or_else(|| CannotTell(format!("{scalar} is no number"))),
        other => Err(CannotTell(format!("{other} is no number"))),
    }
}

/// A result, unless it is infinite or nothing.
pub(super) fn finite(number: f64, unit: Option<Unit>) -> Result<Value, CannotTell> {
    if number.is_finite() {
        Ok(Value::Number(number, unit))
    } else {
        Err(CannotTell("the result is not a finite number".to_owned()))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number, Some(unit)) => f.write_str(&unit.show(*number)),
            Self::Number(number, None) => f.write_str(&caudal_core::quantity::short(*number)),
            Self::Text(text) => f.write_str(text),
            Self::Truth(truth) => write!(f, "{}", if *truth { "yes" } else { "no" }),
            Self::Written(scalar) => write!(f, "{scalar}"),
        }
    }
}
