//! The statement on the duplex mode of a path.

use crate::rate_estimate::Confidence;
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

const FIND_MISMATCH: &str = "find the link on the path with late collisions at one end and CRC (FCS) errors at the other, and enable \
    autonegotiation at both";
const FIND_HALF: &str = "unless a hub or a radio is on the path, find the link whose ends are half duplex, and enable autonegotiation at both";

/// What a path is found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplexFinding {
    /// Both directions at once.
    Full,
    /// One direction at a time, known to both ends: half-duplex Ethernet, or a radio.
    MatchedHalf,
    /// One end of a link is half duplex and the other full.
    Mismatch {
        /// The half-duplex end, seen from the path's; `None` when the runs do not show it.
        half: Option<LinkSide>,
    },
    /// The readings do not decide.
    CannotTell,
}

/// The duplex mode of a path, with confidence and reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplexStatement {
    /// The finding.
    pub finding: DuplexFinding,
    /// The confidence in it.
    pub confidence: Confidence,
    /// Why, in one sentence.
    pub reason: String,
}

impl DuplexStatement {
    /// `true` for a link whose ends differ.
    #[must_use]
    pub const fn is_mismatch(&self) -> bool {
        matches!(self.finding, DuplexFinding::Mismatch { .. })
    }

    /// What to do about a link between both ends; `None` where there is nothing to do.
    #[must_use]
    pub const fn remedy(&self) -> Option<&'static str> {
        match self.finding {
            DuplexFinding::Mismatch { .. } => Some(FIND_MISMATCH),
            DuplexFinding::MatchedHalf => Some(FIND_HALF),
            DuplexFinding::Full | DuplexFinding::CannotTell => None,
        }
    }

    pub(super) fn new(finding: DuplexFinding, confidence: Confidence, reason: String) -> Self {
        Self {
            finding,
            confidence,
            reason,
        }
    }

    pub(super) fn cannot_tell(cause: &str) -> Self {
        let reason = format!("cannot tell, because {cause}");
        Self::new(DuplexFinding::CannotTell, Confidence::Low, reason)
    }
}
