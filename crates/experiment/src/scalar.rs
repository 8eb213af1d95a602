//! Values that stand in an experiment's file as a number or a text.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use caudal_core::units::{BitRate, ByteCount, parse_duration};

/// A text that may hold `{parameter}`.
pub type Text = String;

/// A number or a text; a text may carry a unit or hold `{parameter}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// A truth.
    Truth(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl Scalar {
    /// Its value as a plain number in base units: `80%` is 0.8, `50M` is 5e7, `64Ki` is 65536, `20ms` is 0.02; `None` for a
    /// text that is no number.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Truth(truth) => Some(f64::from(u8::from(*truth))),
            Self::Whole(whole) => Some(*whole as f64),
            Self::Number(number) => Some(*number),
            Self::Text(text) => number(text),
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Whole(whole) => write!(f, "{whole}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A number with or without a unit, in base units: bit/s, bytes, seconds, parts of one.
#[must_use]
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let finite = |number: f64| number.is_finite().then_some(number);
    if let Some(percent) = text.strip_suffix('%') {
        return percent
            .trim()
            .parse()
            .ok()
            .and_then(finite)
            .map(|of| of / 100.0);
    }
    if let Ok(plain) = text.parse::<f64>() {
        return finite(plain);
    }
    let rate = text.parse::<BitRate>().ok().map(BitRate::as_f64);
    let size = || text.parse::<ByteCount>().ok().map(ByteCount::as_f64);
    let time = || parse_duration(text).ok().map(|time| time.as_secs_f64());
    rate.or_else(size).or_else(time)
}
