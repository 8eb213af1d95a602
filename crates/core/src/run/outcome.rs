//! The outcome of a run.

use std::fmt;
use std::str::FromStr;

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunOutcome {
    /// It was completed.
    Done,
    /// It ended early.
    CutShort,
    /// It gave no result that counts.
    Failed,
}

impl RunOutcome {
    /// Every outcome.
    pub const ALL: [Self; 3] = [Self::Done, Self::CutShort, Self::Failed];

    /// The outcome as the store, JSON and CSV write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::CutShort => "cut short",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name of no outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such outcome of a run")]
pub struct UnknownOutcome;

impl FromStr for RunOutcome {
    type Err = UnknownOutcome;

    fn from_str(name: &str) -> Result<Self, UnknownOutcome> {
        let mut outcomes = Self::ALL.into_iter();
        outcomes
            .find(|outcome| outcome.name() == name)
            .ok_or(UnknownOutcome)
    }
}
