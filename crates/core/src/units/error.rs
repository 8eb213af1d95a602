//! The error of parsing a quantity.

/// A text that is not an amount, rate, duration or fraction: one line with the text, the fault and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} {problem}; {remedy}")]
pub struct ParseUnitError {
    text: String,
    problem: String,
    remedy: String,
}

impl ParseUnitError {
    /// The error that is mended by writing something like `example`.
    pub(super) fn new(text: &str, problem: impl Into<String>, example: &'static str) -> Self {
        Self::with_remedy(text, problem, format!("write for example {example}"))
    }

    /// The error that is mended by `remedy`.
    pub(super) fn with_remedy(
        text: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            text: text.to_owned(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// The text that was refused, as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}
