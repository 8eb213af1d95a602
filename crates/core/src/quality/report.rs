//! The result of a test of latency under load.

use super::advice::Advice;
use super::grade::GradeReport;
use super::interval::QualityInterval;
use super::phase::PhaseReport;
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
    /// The processor time of both ends over all phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuReport>,
    /// The reason why the test ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}
