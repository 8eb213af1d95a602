//! What a lab in a process of its own is asked and told.

use serde::{Deserialize, Serialize};

use crate::report::LabReport;

/// A question or an order to a lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// What was counted.
    Report,
    /// Lateness is to be counted anew from here on.
    Mark,
    /// A link is to be changed.
    Set(Change),
    /// The lab is to end.
    Down,
}

/// A change of a link while frames flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Which link.
    pub link: String,
    /// Which of its directions: from the first end (0), from the second (1), or both.
    pub end: Option<usize>,
    /// Bits per second.
    pub rate_bps: Option<u64>,
    /// Nanoseconds.
    pub delay_ns: Option<u64>,
    /// The part of frames that is lost.
    pub loss: Option<f64>,
}

/// What a lab answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    /// What was counted.
    Report(Box<LabReport>),
    /// It is done.
    Done,
    /// It is not, because of the words or the machine.
    Refused {
        /// Why, and what to do about it.
        reason: String,
        /// Whether what was asked for is wrong, and not this machine.
        is_usage: bool,
    },
}
