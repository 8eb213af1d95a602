//! The reasons for which a test ends before its plan does.

use crate::text::ExternalText;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The reason why a test ended before its plan did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutShort {
    /// The user at this end ended it.
    Interrupted,
    /// The client ended it, for this reason.
    ByClient(ExternalText),
    /// The server ended it, for this reason.
    ByServer(ExternalText),
    /// The peer was lost, or what it sent made no sense.
    Lost(ExternalText),
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted => f.write_str("interrupted"),
            Self::ByClient(reason) | Self::ByServer(reason) | Self::Lost(reason) => reason.fmt(f),
        }
    }
}
