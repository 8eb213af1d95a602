//! JSON on the control connection: the frame and the maximum length of its blocks, and values read as leniently as iperf3 does.

use caudal_core::text::ExternalText;
use serde_json::{Map, Value};

/// Maximum length of a parameter block that a server reads, bytes: iperf3 itself takes 8 KiB.
pub const MAX_PARAMETERS_BYTES: usize = 16 << 10;
/// Maximum length of a results block that a server reads, bytes: 256 streams take 64 KiB.
pub const MAX_RESULTS_BYTES: usize = 256 << 10;
/// Maximum length of a results block that a client reads, bytes: it may carry all the server has printed.
pub const MAX_SERVER_RESULTS_BYTES: usize = 64 << 20;

/// A JSON text with its frame: four big-endian bytes of length, then the text.
#[must_use]
pub fn frame(json: &str) -> Vec<u8> {
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(json.len().saturating_add(4));
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(json.as_bytes());
    bytes
}

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
