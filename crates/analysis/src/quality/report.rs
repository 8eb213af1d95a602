//! The result of a test of latency under load, from its phases.

use super::advice::advice;
use caudal_core::plan::PhaseLoad;
use caudal_core::quality::{GradeReport, PhaseReport, QualityInterval, QualityReport};

/// The result of these phases, with the advice that follows from them.
#[must_use]
pub fn quality_report(
    phases: Vec<PhaseReport>,
    intervals: Vec<QualityInterval>,
    confidence: f64,
) -> QualityReport {
    QualityReport {
        grade: grade(&phases),
        advice: advice(&phases),
        phases,
        intervals,
        confidence,
        cpu: None,
        cut_short: None,
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
