//! Errors in expressions, with their positions.

/// An error in an expression: of syntax, of types, or an unknown name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct ExpressionError {
    /// The byte position of the error.
    pub at: usize,
    /// The problem.
    pub problem: String,
    /// The remedy.
    pub remedy: String,
}

pub(super) fn error(
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
