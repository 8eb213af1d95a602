//! Values that an experiment file may write as a number or as text.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use caudal_core::units::{BitRate, ByteCount, parse_duration};

/// A text that may contain `{parameter}`.
pub type Text = String;

/// A boolean, a number or a text; a text may have a unit or contain `{parameter}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Number(f64),
    /// A text.
    Text(String),
}

impl Scalar {
    /// The value as a number in base units: `80%` is 0.8, `50M` is 5e7, `64Ki` is 65536, `20ms` is 0.02; `None` for a
    /// text that is not a number.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Bool(boolean) => Some(f64::from(u8::from(*boolean))),
            Self::Integer(integer) => Some(*integer as f64),
            Self::Number(number) => Some(*number),
            Self::Text(text) => parse_number(text),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(boolean) => write!(f, "{boolean}"),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Parses a number with or without a unit, in base units: bit/s, bytes, seconds, fractions of one.
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let finite = |number: f64| number.is_finite().then_some(number);
    if let Some(percent) = text.strip_suffix('%') {
        return percent
            .trim()
            .parse()
            .ok()
            .and_then(finite)
            .map(|percent| percent / 100.0);
    }
    if let Ok(value) = text.parse::<f64>() {
        return finite(value);
    }
    let rate = text.parse::<BitRate>().ok().map(BitRate::as_f64);
    let size = || text.parse::<ByteCount>().ok().map(ByteCount::as_f64);
    let time = || parse_duration(text).ok().map(|time| time.as_secs_f64());
    rate.or_else(size).or_else(time)
}
