//! One phase of a test of latency under load.

use super::added::{AddedDelay, DelayIncrease, ProtocolIncreases};
use super::call::CallQuality;
use super::fill::PathFill;
use super::grade::Grade;
use super::one_way::OneWayReport;
use super::probe::{ProbeKind, ProbeSummary};
use super::responsiveness::Responsiveness;
use super::sender_queue::SenderQueue;
use crate::plan::{Direction, PhaseLoad};
use crate::summary::DirectionSummary;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load of a phase in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseDirection {
    /// The flows, as in a throughput test of their own.
    #[serde(flatten)]
    pub summary: DirectionSummary,
    /// The share of their bytes that was retransmitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<f64>,
    /// The backlog of the sender's own interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_queue: Option<SenderQueue>,
    /// Whether this load filled the path; absent in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<PathFill>,
}

/// One phase of a test of latency under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseReport {
    /// The load.
    pub load: PhaseLoad,
    /// The start of the phase, s after that of the test.
    pub start_s: f64,
    /// Its duration, s.
    pub duration_s: f64,
    /// The part at its beginning that does not count, s.
    pub ramp_s: f64,
    /// The load by direction, up first; none without load.
    pub directions: Vec<PhaseDirection>,
    /// Each probe's round trips, µs; those that no reply came to are missing.
    pub probes: Vec<ProbeSummary>,
    /// The delay in each direction.
    pub one_way: Vec<OneWayReport>,
    /// The increase of the UDP probes' round-trip times above those of the idle phase; of the TCP probes' where UDP does not pass, or
    /// where the path serves UDP first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_rtt: Option<DelayIncrease>,
    /// The same of UDP and of TCP; absent without load, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_protocol: Option<ProtocolIncreases>,
    /// The grade of this phase by the mean of the increase; absent unless the load filled the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// Why an end of the test was too busy to measure; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<ExternalText>,
    /// The increase of the delay in each direction. In a browser's test, whose probes measure round trips only, that of the round trips, in
    /// the direction of the load where that is in one alone.
    pub added: Vec<AddedDelay>,
    /// What a call beside it sounds like, by its UDP echo, or else the probe that the phases are compared by; absent without answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallQuality>,
    /// The responsiveness; absent without load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responsiveness: Option<Responsiveness>,
    /// The reason why the phase ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}

impl PhaseReport {
    /// The summary of a probe.
    #[must_use]
    pub fn probe(&self, probe: ProbeKind) -> Option<&ProbeSummary> {
        self.probes.iter().find(|summary| summary.probe == probe)
    }

    /// The probe that the phases are compared by: UDP echo, else TCP echo, else ICMP echo, else WebSocket pings.
    #[must_use]
    pub fn echo(&self) -> Option<&ProbeSummary> {
        let kinds = [
            ProbeKind::Udp,
            ProbeKind::Tcp,
            ProbeKind::Icmp,
            ProbeKind::WebSocket,
        ];
        kinds.into_iter().find_map(|kind| self.probe(kind))
    }

    /// The increase of the delay in a direction.
    #[must_use]
    pub fn added(&self, direction: Direction) -> Option<&AddedDelay> {
        self.added.iter().find(|added| added.direction == direction)
    }

    /// The load in a direction.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> Option<&PhaseDirection> {
        let mut all = self.directions.iter();
        all.find(|load| load.summary.direction == direction)
    }
}
