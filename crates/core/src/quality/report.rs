//! The result of a test of latency under load.

use super::advice::{Advice, advice};
use super::grade::GradeReport;
use super::interval::QualityInterval;
use super::phase::PhaseReport;
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
    /// The processor time of both ends over all phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuReport>,
    /// The reason why the test ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}

impl QualityReport {
    /// The result of these phases, with the advice that follows from them.
    #[must_use]
    pub fn new(phases: Vec<PhaseReport>, intervals: Vec<QualityInterval>, confidence: f64) -> Self {
        Self {
            grade: grade(&phases),
            advice: advice(&phases),
            phases,
            intervals,
            confidence,
            cpu: None,
            cut_short: None,
        }
    }
}

/// The grade of a test with these phases; `None` unless both download and upload were compared with an idle phase.
fn grade(phases: &[PhaseReport]) -> Option<GradeReport> {
    let increase_us = |load| {
        let phase = phases.iter().find(|phase| phase.load == load)?;
        Some(phase.added_rtt?.mean_us)
    };
    let (down_us, up_us) = (
        increase_us(PhaseLoad::Download)?,
        increase_us(PhaseLoad::Upload)?,
    );
    Some(GradeReport::of_increases(down_us, up_us))
}
