//! JSON as other programs write it: numbers as floats, −1 as 2^64 − 1, keys of the wrong type.

use caudal_core::text::ExternalText;
use serde_json::{Map, Value};

/// A number, truncated to an integer; −1 and everything from 2^63 on, which is how old versions print a
/// negative number, is `None`.
pub(super) fn count(map: &Map<String, Value>, key: &str) -> Option<u64> {
    let value = map.get(key)?;
    if let Some(whole) = value.as_u64() {
        return (whole < 1 << 63).then_some(whole);
    }
    let float = value.as_f64()?;
    (0.0..9.2e18).contains(&float).then_some(float as u64)
}

/// A finite number.
pub(super) fn number(map: &Map<String, Value>, key: &str) -> Option<f64> {
    map.get(key)?.as_f64().filter(|number| number.is_finite())
}

/// `true`, or a number that is not 0: both stand for a switch that is on.
pub(super) fn is_on(map: &Map<String, Value>, key: &str) -> bool {
    match map.get(key) {
        Some(Value::Bool(on)) => *on,
        Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number != 0.0),
        _ => false,
    }
}

/// A text.
pub(super) fn text(map: &Map<String, Value>, key: &str) -> Option<ExternalText> {
    map.get(key)?.as_str().map(ExternalText::from)
}
