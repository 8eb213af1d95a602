//! Confidences as text.

/// A confidence in percent, without zeros behind its last digit.
pub(super) fn level(confidence: f64) -> String {
    let text = format!("{:.4}", confidence * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
