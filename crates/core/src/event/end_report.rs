//! The report of one end of a test to the other when all payload was sent.

use crate::loss::ImplausibleLoss;
use crate::sample::Role;
use crate::text::ExternalText;
use crate::transit::TransitTimes;
use serde::{Deserialize, Serialize};

/// The end of a test that made a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportingEnd {
    /// This end: the report that the other end receives.
    Local,
    /// The other end.
    Peer,
}

/// CPU time of a program over the length of a test, %.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuPercent {
    /// In total.
    pub total: f64,
    /// In user space.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

/// The output a server has printed for its client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeerOutput {
    /// Lines.
    Text(ExternalText),
    /// A JSON object, as text.
    Json(ExternalText),
}

/// The counts of one end of a flow over the measured part of a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FlowTotals {
    /// The flow's number.
    pub flow: u32,
    /// The role of the end that counted.
    pub role: Role,
    /// The length of the measured part, s.
    pub elapsed_s: f64,
    /// Payload bytes.
    pub bytes: u64,
    /// Segments retransmitted (TCP sender).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Datagrams sent; of a receiver those that arrived and those that were lost (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Datagrams lost (UDP receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Datagrams that arrived after a later one (UDP receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// RFC 3550 jitter, s (UDP receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_s: Option<f64>,
    /// One-way transit times (UDP receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transit: Option<TransitTimes>,
}

impl FlowTotals {
    /// Compares the totals of a flow's two ends.
    ///
    /// # Errors
    /// When they cannot both be true.
    pub fn check_against(&self, other: Option<&Self>) -> Result<(), ImplausibleLoss> {
        let (sender, receiver) = match self.role {
            Role::Sender => (Some(self), other),
            Role::Receiver => (other, Some(self)),
        };
        let counts = receiver.and_then(|totals| totals.datagrams.zip(totals.lost));
        let Some((accounted, lost)) = counts else {
            return Ok(());
        };
        let sent = sender.and_then(|totals| totals.datagrams);
        ImplausibleLoss::check(accounted, lost, sent.filter(|sent| *sent > 0))
    }
}

/// The counts of one end of a test, as reported to the other end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndReport {
    /// The end that counted.
    pub end: ReportingEnd,
    /// Its flows.
    pub flows: Vec<FlowTotals>,
    /// Its CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuPercent>,
    /// The congestion control it used (TCP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<ExternalText>,
    /// The output it has printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PeerOutput>,
}

impl EndReport {
    /// The counts of a flow at this end.
    #[must_use]
    pub fn flow(&self, flow: u32) -> Option<&FlowTotals> {
        self.flows.iter().find(|totals| totals.flow == flow)
    }
}
