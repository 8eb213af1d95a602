//! The two ends of a path.

use std::fmt;

/// One end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkSide {
    /// The end that measures.
    Near,
    /// The other.
    Far,
}

impl LinkSide {
    /// The other end.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

impl fmt::Display for LinkSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Near => "near",
            Self::Far => "far",
        })
    }
}
