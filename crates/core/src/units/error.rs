//! The error of parsing a quantity.

/// A text that is not an amount, rate, duration or fraction: one line with the text, the fault and an example.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {problem}; write for example {example}")]
pub struct ParseUnitError {
    text: String,
    problem: String,
    example: &'static str,
}

impl ParseUnitError {
    pub(super) fn new(text: &str, problem: impl Into<String>, example: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            problem: problem.into(),
            example,
        }
    }

    /// The text that was refused, as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}
