//! What is wrong with a formula, and where in it.

/// A text that is no expression, or one that names what is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct ExpressionError {
    /// The byte at which it goes wrong.
    pub at: usize,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

pub(super) fn wrong(
    at: usize,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> ExpressionError {
    ExpressionError {
        at,
        problem: problem.into(),
        remedy: remedy.into(),
    }
}
