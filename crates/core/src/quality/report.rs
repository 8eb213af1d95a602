//! The result of a test of latency under load.

use super::advice::{Advice, AdviceCode};
use super::grade::GradeReport;
use super::interval::QualityInterval;
use super::phase::PhaseReport;
use super::via::ViaHost;
use crate::marks::MarkReport;
use crate::plan::PhaseLoad;
use crate::run::CpuReport;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a test of latency under load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QualityReport {
    /// Each phase, in order.
    pub phases: Vec<PhaseReport>,
    /// The grade; absent unless both download and upload were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<GradeReport>,
    /// What was found, and what to do about it.
    pub advice: Vec<Advice>,
    /// The test over time.
    pub intervals: Vec<QualityInterval>,
    /// The confidence of the intervals of goodput and loss.
    pub confidence: f64,
    /// The marks of the IP header with which UDP probes were sent, and those with which they arrived at the server, over all phases; absent
    /// where it did not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_up: Option<MarkReport>,
    /// The same of the replies, as they arrived at the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_down: Option<MarkReport>,
    /// The echoes of a host on the way, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<ViaHost>,
    /// The processor time of both ends over all phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuReport>,
    /// The reason why the test ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}

impl QualityReport {
    /// Why the test has no grade, in half a sentence.
    #[must_use]
    pub fn no_grade_reason(&self) -> String {
        let has_advice = |code| self.advice.iter().any(|advice| advice.code == code);
        let has = |load| self.phases.iter().any(|phase| phase.load == load);
        let is_compared = self.phases.iter().any(|phase| phase.added_rtt.is_some());
        if let Some(reason) = self.phases.iter().find_map(|phase| phase.busy.as_ref()) {
            return reason.to_string();
        }
        let reason = if has_advice(AdviceCode::SlowLink) && !is_compared {
            "no probe came back under load, over a slow link"
        } else if !(has(PhaseLoad::Idle) && has(PhaseLoad::Download) && has(PhaseLoad::Upload)) {
            "it takes a download, an upload and an idle phase"
        } else if is_compared && has_advice(AdviceCode::PathNotFilled) {
            "as far as can be told, the load did not fill the path, so its queues were not tested"
        } else {
            "too few probes came back to compare the phases"
        };
        reason.to_owned()
    }
}
