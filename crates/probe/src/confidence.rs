//! The confidence in a statement.

use caudal_core::path::StatementConfidence;
use std::fmt;

/// The confidence in a statement that rests on more than one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// Something else explains the readings as well.
    Low,
    /// The readings fit, and what would confirm them was not measured.
    Medium,
    /// Readings of more than one kind agree, or the interval is narrow.
    High,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

impl From<Confidence> for StatementConfidence {
    fn from(confidence: Confidence) -> Self {
        match confidence {
            Confidence::Low => Self::Low,
            Confidence::Medium => Self::Medium,
            Confidence::High => Self::High,
        }
    }
}
