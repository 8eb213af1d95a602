//! The protocol of a lab's control socket: a line of JSON each way.

use caudal_link::lab_report::LabReport;
use serde::{Deserialize, Serialize};

/// A request to a lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlRequest {
    /// Report all counters.
    Report,
    /// Start a new measurement of the emulator's lateness.
    Mark,
    /// Change a link.
    Set(LinkChange),
    /// Take the lab down.
    Down,
}

/// A change of a link while frames flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkChange {
    /// The name of the link.
    pub link: String,
    /// The direction: from the first end (0), from the second (1), or both.
    pub end: Option<usize>,
    /// The new rate in bits per second.
    pub rate_bps: Option<u64>,
    /// The new delay in nanoseconds.
    pub delay_ns: Option<u64>,
    /// The new probability of independent loss.
    pub loss: Option<f64>,
}

/// The reply of a lab.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ControlReply {
    /// All counters.
    Report(Box<LabReport>),
    /// The request was carried out.
    Done,
    /// The request was not carried out.
    Refused {
        /// The reason and a remedy.
        reason: String,
        /// `true` when the request is wrong, rather than the machine.
        is_usage: bool,
    },
}
